import { Page } from '../parts/page.tsx'
import { useWords } from '../text/text.ts'
import { useConsole } from './text/console-words.ts'

export function Nothing() {
  const { text } = useWords()
  const { text: own } = useConsole()
  return (
    <Page title={text.nowhere.title} lead={text.nowhere.lead} narrow>
      <p>
        <a href="#/">{own.toOverview}</a>
      </p>
    </Page>
  )
}

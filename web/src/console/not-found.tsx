import { Page } from '../parts/page.tsx'
import { useWords } from '../text/text.ts'
import { useConsole } from './text/console-words.ts'

export function NotFound() {
  const { text } = useWords()
  const { text: own } = useConsole()
  return (
    <Page title={text.notFound.title} lead={text.notFound.lead} narrow>
      <p>
        <a href="#/">{own.toOverview}</a>
      </p>
    </Page>
  )
}

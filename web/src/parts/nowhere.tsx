import { useWords } from '../text/text.ts'
import { Page } from './page.tsx'

export function Nowhere() {
  const { text } = useWords()
  return (
    <Page title={text.nowhere.title} lead={text.nowhere.lead} narrow>
      <p>
        <a href="/#/">{text.nowhere.home}</a>
      </p>
    </Page>
  )
}

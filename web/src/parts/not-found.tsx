import { useWords } from '../text/text.ts'
import { Page } from './page.tsx'

export function NotFound() {
  const { text } = useWords()
  return (
    <Page title={text.notFound.title} lead={text.notFound.lead} narrow>
      <p>
        <a href="/#/">{text.notFound.home}</a>
      </p>
    </Page>
  )
}

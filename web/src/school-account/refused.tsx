import { Page } from '../parts/page.tsx'
import { school } from '../school.ts'
import { useWords } from '../text/text.ts'

/** Where the browser comes back to after a refused sign-in. It never says why; staff see the reason. */
export function SchoolRefused() {
  const { text } = useWords()
  return (
    <Page title={text.school.refusedTitle} lead={text.school.refusedLead} narrow>
      <ul>
        {text.school.refusedHints.map((hint) => (
          <li key={hint}>{hint}</li>
        ))}
      </ul>
      <p>
        <a className="button main" href="#/">
          {text.school.back}
        </a>
      </p>
      {school.support && (
        <p className="aside">
          <a href={school.support}>{text.footer.help}</a>
        </p>
      )}
    </Page>
  )
}

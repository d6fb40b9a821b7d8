import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { Reading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { useResource } from '../resource.ts'
import { useQuery } from '../route.ts'
import { ask } from '../session.ts'
import { useWords } from '../text/text.ts'
import type { Refusal } from './replies.ts'
import { useConsole } from './text/console-words.ts'

const read = (path: string) => ask<{ refusals: Refusal[] }>(path).then(({ refusals }) => refusals)

/** Refused sign-ins with school accounts, for whoever is asked about one. A reference may be in the URL; nothing else is. */
export function RefusalsPage() {
  const { text: all } = useConsole()
  const text = all.refused
  const [query] = useQuery()
  const [typed, setTyped] = useState(query.get('reference') ?? '')
  const [words, setWords] = useState(typed)
  const refusals = useResource(`/staff/school-refusals?q=${encodeURIComponent(words.trim())}`, read)
  return (
    <Page title={text.title} lead={text.lead}>
      <form
        className="inline"
        onSubmit={(event) => {
          event.preventDefault()
          setWords(typed)
        }}
      >
        <Field
          label={text.search}
          type="search"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          value={typed}
          onText={setTyped}
        />
        <Button submits>{all.mail.look}</Button>
      </form>
      <Reading of={refusals} />
      <p role="status" className="soft">
        {refusals.data?.length === 0 && all.none}
      </p>
      <ul className="cards">
        {refusals.data?.map((refusal) => (
          <RefusalCard key={refusal.reference} of={refusal} />
        ))}
      </ul>
    </Page>
  )
}

function RefusalCard({ of }: { of: Refusal }) {
  const { dates } = useWords()
  const { text: all } = useConsole()
  const text = all.refused
  const { reference, at, reason, role, provider, userId, number, address } = of
  return (
    <li className="card">
      <h2>{reference}</h2>
      <p>
        <time dateTime={at}>{dates.moment(at)}</time>{' '}
        <span className="soft">
          · {all.providers.roles[role]} · <bdi>{provider ?? text.removed}</bdi>
        </span>
      </p>
      <p>{all.events.refusals[reason] ?? reason}</p>
      <p>
        {text.number}: <bdi>{number ?? text.nothing}</bdi> · {text.address}:{' '}
        <bdi dir="ltr">{address ?? text.nothing}</bdi>
      </p>
      {userId && role === 'student' && (
        <p>
          <a href={`#/people/${encodeURIComponent(userId)}`}>{all.events.person}</a>
        </p>
      )}
    </li>
  )
}

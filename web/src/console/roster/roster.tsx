import { type DragEvent, useId, useRef, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Reading } from '../../parts/loading.tsx'
import { Page } from '../../parts/page.tsx'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { ask } from '../../session.ts'
import { useWords } from '../../text/text.ts'
import { useActors } from '../event-list.tsx'
import { StateMark } from '../state.tsx'
import { useConsole } from '../text/console-words.ts'
import { type Import, operations } from './replies.ts'
import { Sending, useSending } from './sending.tsx'

const fileBytesMax = 64 * 1024 * 1024

const read = (path: string) => ask<{ imports: Import[] }>(path).then(({ imports }) => imports)

export function RosterPage({ user }: { user: Staff }) {
  const { text: all } = useConsole()
  const text = all.roster
  const imports = useResource('/staff/roster/imports', read)
  return (
    <Page title={text.title} lead={text.lead}>
      <Upload />
      <section aria-labelledby="history">
        <h2 id="history">{text.history}</h2>
        <Reading of={imports} />
        {imports.data?.length === 0 && <p className="soft">{text.noHistory}</p>}
        {imports.data && imports.data.length > 0 && <History of={imports.data} user={user} />}
      </section>
    </Page>
  )
}

function Upload() {
  const { text: all } = useConsole()
  const text = all.roster
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const [over, setOver] = useState(false)
  const sending = useSending()

  function take(file: File | undefined) {
    if (!file || sending.busy) return
    const isZip = /\.zip$/i.test(file.name)
    const fits = file.size <= fileBytesMax
    setWrong(isZip ? (fits ? null : text.tooLarge) : text.notZip)
    if (isZip && fits) sending.run(file)
  }
  function drop(event: DragEvent) {
    event.preventDefault()
    setOver(false)
    take(event.dataTransfer.files[0])
  }

  return (
    <section
      className={over ? 'card drop over' : 'card drop'}
      aria-labelledby={`${id}-title`}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <h2 id={`${id}-title`}>{text.drop}</h2>
      <p className="soft">{text.dropHint}</p>
      <input
        ref={input}
        type="file"
        accept=".zip,application/zip"
        hidden
        onChange={(event) => {
          take(event.currentTarget.files?.[0])
          event.currentTarget.value = ''
        }}
      />
      <Button look="main" busy={sending.busy} onPress={() => input.current?.click()}>
        {text.choose}
      </Button>
      <Sending of={sending} />
      {wrong && (
        <p className="field-error" role="alert">
          {wrong}
        </p>
      )}
    </section>
  )
}

function History({ of, user }: { of: readonly Import[]; user: Staff }) {
  const { dates } = useWords()
  const { text: all, number } = useConsole()
  const text = all.roster
  const nameOf = useActors(user)
  const isEmptied = of.find(({ current }) => current)?.content === 0
  return (
    <ol className="rows plain-list">
      {of.map((one) => (
        <li key={one.generation} className="import">
          <span>
            <strong>{text.numbered(number(one.generation))}</strong>
            {' · '}
            {one.kind === 'undo' ? text.undoOf(number(one.content)) : text.what[one.kind]}
            {one.kind === 'import' && (
              <>
                {' · '}
                <bdi>{one.fileName}</bdi>
              </>
            )}
            {one.current && (
              <>
                {' '}
                <StateMark state="good" word={text.current} />
              </>
            )}
          </span>
          <span className="soft">
            {dates.moment(one.publishedAt)} · <bdi>{all.events.by(whoOf(one))}</bdi>
            {summaryOf(one)}
          </span>
          {one.allowed.length > 0 && (
            <span className="soft">
              {text.allowed} {one.allowed.map((code) => text.holdNames[code] ?? code).join(', ')}
            </span>
          )}
          {one.canGoBack && <GoBack to={one.generation} />}
        </li>
      ))}
      {!isEmptied && (
        <li className="import">
          <span className="soft">{text.atFirst}</span>
          <GoBack to={0} />
        </li>
      )}
    </ol>
  )

  function whoOf({ actor, actorName }: Import): string {
    if (actor === user.userId || actorName === null) return nameOf(actor ?? '')
    return actorName
  }
  function summaryOf({ students }: Import): string {
    const parts = operations.flatMap((operation) =>
      students[operation] > 0 ? [`${text.operations[operation]} ${number(students[operation])}`] : [],
    )
    return parts.length > 0 ? ` · ${text.kinds.student} (${parts.join(', ')})` : ''
  }
}

function GoBack({ to }: { to: number }) {
  const { text: all } = useConsole()
  const text = all.roster
  return (
    <a href={`#/roster/undo/${to}`} aria-label={`${text.undo} ${to}`}>
      {text.undo}
    </a>
  )
}

import { type DragEvent, useId, useRef, useState } from 'react'
import { useAction } from '../../parts/action.ts'
import { Button } from '../../parts/button.tsx'
import { Reading } from '../../parts/loading.tsx'
import { ProblemNotice } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { go } from '../../route.ts'
import { ask } from '../../session.ts'
import { useWords } from '../../text/text.ts'
import { Deed } from '../deed.tsx'
import { useActors } from '../happenings.tsx'
import { StateMark } from '../state.tsx'
import { useConsole } from '../text/console-words.ts'
import { type Import, kinds, type Operation } from './replies.ts'
import { uploadRoster } from './upload.ts'

const fileBytesMax = 64 * 1024 * 1024
const operations: readonly Operation[] = ['added', 'changed', 'leaving', 'returning']

const read = (path: string) => ask<{ imports: Import[] }>(path).then(({ imports }) => imports)

export function RosterPage({ user }: { user: Staff }) {
  const { text: all } = useConsole()
  const text = all.roster
  const imports = useResource('/staff/roster/imports', read)
  const [undoing, setUndoing] = useState<Import | null>(null)
  const [said, setSaid] = useState('')
  return (
    <Page title={text.title} lead={text.lead}>
      <Upload />
      <p role="status" className={said ? 'notice good' : 'said'}>
        {said}
      </p>
      <section aria-labelledby="history">
        <h2 id="history">{text.history}</h2>
        <Reading of={imports} />
        {imports.data?.length === 0 && <p className="soft">{text.noHistory}</p>}
        <History of={imports.data ?? []} user={user} onUndo={setUndoing} />
      </section>
      {undoing && (
        <Undo
          to={undoing}
          user={user}
          onCancel={() => setUndoing(null)}
          onDone={() => {
            setUndoing(null)
            setSaid(text.undone)
            imports.reload()
          }}
        />
      )}
    </Page>
  )
}

function Upload() {
  const { text: all, percent } = useConsole()
  const text = all.roster
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [share, setShare] = useState(0)
  const [wrong, setWrong] = useState<string | null>(null)
  const [over, setOver] = useState(false)
  const sending = useAction(async (file: File) => {
    setShare(0)
    const { planId } = await uploadRoster(file, setShare)
    go(`#/roster/plans/${encodeURIComponent(planId)}`)
  })

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
      <div role="status">
        {sending.busy && (share < 1 ? <p>{text.uploading(percent(share))}</p> : <p>{text.reading}</p>)}
      </div>
      {sending.busy && (
        <progress
          aria-label={share < 1 ? text.uploading(percent(share)) : text.reading}
          {...(share < 1 && { value: share })}
        />
      )}
      {wrong && (
        <p className="field-error" role="alert">
          {wrong}
        </p>
      )}
      {sending.problem && <ProblemNotice problem={sending.problem} />}
    </section>
  )
}

function History({ of, user, onUndo }: { of: readonly Import[]; user: Staff; onUndo(to: Import): void }) {
  const { dates } = useWords()
  const { text: all, number } = useConsole()
  const text = all.roster
  const nameOf = useActors(user)
  return (
    <ol className="rows plain-list">
      {of.map((one) => (
        <li key={one.generation}>
          <span>
            <strong>{text.numbered(number(one.generation))}</strong>
            {' · '}
            {one.kind === 'undo' ? text.undoOf : text.import} · <bdi>{one.fileName}</bdi>
            {one.current && (
              <>
                {' '}
                <StateMark state="good" word={text.current} />
              </>
            )}
          </span>
          <span className="soft">
            {dates.moment(one.publishedAt)} · <bdi>{all.events.by(nameOf(one.actor))}</bdi>
            {summaryOf(one)}
          </span>
          {!one.current && (
            <Button label={`${text.undo} ${one.generation}`} onPress={() => onUndo(one)}>
              {text.undo}
            </Button>
          )}
        </li>
      ))}
    </ol>
  )

  function summaryOf({ counts }: Import): string {
    const parts = kinds.slice(0, 2).flatMap((kind) => {
      const changes = operations.flatMap((operation) => {
        const n = counts[kind]?.[operation] ?? 0
        return n > 0 ? [`${text.operations[operation]} ${number(n)}`] : []
      })
      return changes.length > 0 ? [` · ${text.kinds[kind]} (${changes.join(', ')})`] : []
    })
    return parts.join('')
  }
}

function Undo({ to, user, onDone, onCancel }: { to: Import; user: Staff; onDone(): void; onCancel(): void }) {
  const { text: all, number } = useConsole()
  const text = all.roster
  return (
    <Deed
      user={user}
      title={text.undoTitle(number(to.generation))}
      effects={text.undoEffects}
      undo={text.undoUndo}
      submit={text.undoSubmit}
      danger
      work={() => ask('/staff/roster/undo', { method: 'POST', body: { to: to.generation } })}
      explain={({ status }) => (status === 409 ? text.movedOn : null)}
      onDone={onDone}
      onCancel={onCancel}
    />
  )
}

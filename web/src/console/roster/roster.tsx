import { type DragEvent, useId, useRef, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Reading } from '../../parts/loading.tsx'
import { Page } from '../../parts/page.tsx'
import type { Staff } from '../../people.ts'
import { useResource } from '../../resource.ts'
import { ask } from '../../session.ts'
import type { ImportList } from '../roster-replies.ts'
import { useConsole } from '../text/console-words.ts'
import { History } from './history.tsx'
import { Pending } from './pending.tsx'
import { Sending, useSending } from './sending.tsx'
import { mediaTypeOf } from './upload.ts'

const fileBytesMax = 64 * 1024 * 1024

const read = (path: string) => ask<ImportList>(path)

export function RosterPage({ user }: { user: Staff }) {
  const { text: all } = useConsole()
  const text = all.roster
  const imports = useResource('/staff/roster/imports', read)
  return (
    <Page title={text.title} lead={text.lead}>
      <Upload />
      <Pending user={user} />
      <section aria-labelledby="history">
        <h2 id="history">{text.history}</h2>
        <Reading of={imports} />
        {imports.data?.imports.length === 0 && <p className="soft">{text.noHistory}</p>}
        {imports.data && imports.data.imports.length > 0 && <History of={imports.data} user={user} />}
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
    const isTaken = mediaTypeOf(file) !== undefined
    const fits = file.size <= fileBytesMax
    setWrong(isTaken ? (fits ? null : text.tooLarge) : text.notTaken)
    if (isTaken && fits) sending.run(file)
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
        accept=".zip,.csv,.xlsx"
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

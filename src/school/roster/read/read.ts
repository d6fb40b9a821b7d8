/**
 * Reads a roster in OneRoster CSV 1.1 or 1.2 from a zip or folder: the manifest, then each file in the order of
 * `kinds`. Records go to the sink row by row, and findings to the log; a row with an error yields no record.
 * References between files are checked later (checks/).
 */
import { Meter } from '../bounds.ts'
import { Ids, Numbers } from '../compact.ts'
import { aboutFile, FatalFinding, type FindingLog } from '../findings.ts'
import type { Kind, Mode, RosterFile, RosterRecord, RosterSink } from '../records.ts'
import { type Archive, openArchive } from './archive.ts'
import { Cells } from './cells.ts'
import { type DataFile, dataFiles, type FileColumns, ignoredFiles, type Version } from './columns.ts'
import { readCsv } from './csv.ts'
import { noManifest, readManifest, saidOf } from './manifest.ts'
import { readData } from './rows.ts'
import { StatusReader } from './status.ts'

export { type Archive, openArchive } from './archive.ts'
export { parseMeetings } from './meetings.ts'
export { isDay, parseId, parsePersonName, parseText } from './values.ts'

const rowsBetweenProgress = 1000

/** Throws a UsageError if there is nothing at `path`. `mode` overrides the manifest. */
export async function readRoster(
  path: string,
  mode: Mode | null,
  log: FindingLog,
  sink: RosterSink,
  meter = new Meter(),
): Promise<RosterFile> {
  const archive = await openArchive(path, meter.bounds.octetsMax)
  try {
    return await new RosterReader(archive, mode, log, sink, meter).read()
  } finally {
    archive.close()
  }
}

class RosterReader {
  readonly #archive: Archive
  readonly #mode: Mode | null
  readonly #log: FindingLog
  readonly #sink: RosterSink
  readonly #meter: Meter
  /** Name in the archive, by name in lower case without `.csv`. */
  readonly #names = new Map<string, string>()
  readonly #status = new StatusReader()
  #manifest = noManifest
  #rows = 0

  constructor(archive: Archive, mode: Mode | null, log: FindingLog, sink: RosterSink, meter: Meter) {
    this.#archive = archive
    this.#mode = mode
    this.#log = log
    this.#sink = sink
    this.#meter = meter
  }

  async read(): Promise<RosterFile> {
    for (const finding of this.#archive.findings) this.#log.add(finding)
    let version: Version = '1.1'
    if (!this.#log.failsAsAWhole) {
      this.#sortOut()
      try {
        version = await this.#readManifest()
        await this.#readFiles(version)
      } catch (error) {
        if (!(error instanceof FatalFinding)) throw error
        this.#log.end(error)
      }
    }
    this.#sink.progress(this.#rows)
    const { name, sha256 } = this.#archive
    const { newestRowAt, set } = this.#status
    const file = { name, sha256, version, rows: this.#rows, newestRowAt, form: set.form }
    return { ...file, ...this.#modes(), missing: this.#missing(version) }
  }

  #modes(): Pick<RosterFile, 'modes' | 'modeFrom'> {
    const looksLike = this.#status.set.rows > 0 && this.#status.set.form === 'dated' ? 'delta' : 'bulk'
    const modes: Partial<Record<Kind, Mode>> = {}
    let modeFrom: RosterFile['modeFrom'] = this.#mode === null ? 'manifest' : 'caller'
    for (const { name, kind } of dataFiles) {
      if (kind === null || !this.#names.has(name.toLowerCase())) continue
      const said = this.#modeOf(name)
      if (said === null) modeFrom = 'rows'
      modes[kind] = said ?? looksLike
    }
    return { modes, modeFrom }
  }

  #modeOf(file: string): Mode | null {
    return this.#mode ?? saidOf(this.#manifest, file)
  }

  /** A bulk set must be complete: missing kinds would otherwise stay forever. */
  #missing(version: Version): string[] {
    const missing = dataFiles.filter(
      ({ name, kind, columns }) => kind && columns[version] && !this.#names.has(name.toLowerCase()),
    )
    const modes = Object.values(this.#modes().modes)
    const isBulk = modes.length > 0 && modes.every((mode) => mode === 'bulk')
    for (const { name, vital } of isBulk && !this.#log.failsAsAWhole ? missing : []) {
      if (!vital) continue
      const message = `There is no ${name}.csv, which a complete bulk set needs. Export it too, or declare this a delta.`
      this.#log.add(aboutFile('error', 'missing-part', this.#archive.name, message))
    }
    return missing.map(({ name }) => `${name}.csv`)
  }

  #sortOut(): void {
    const standard = ['manifest', ...dataFiles.map(({ name }) => name), ...ignoredFiles]
    const spelling = new Map(standard.map((name) => [`${name}.csv`.toLowerCase(), name]))
    for (const name of this.#archive.names) {
      const known = spelling.get(name.toLowerCase())
      if (known === undefined) this.#unknownFile(name, 'This is not a file of the OneRoster standard')
      else this.#sortIn(known, name)
    }
    if (dataFiles.some((file) => this.#names.has(file.name.toLowerCase()))) return
    const message =
      'It has no OneRoster CSV file, such as users.csv, at its top level. Use the exported zip unchanged, or the folder that contains the CSV files.'
    this.#log.add(aboutFile('error', 'no-files', this.#archive.name, message))
  }

  #sortIn(known: string, name: string): void {
    const key = known.toLowerCase()
    const other = this.#names.get(key)
    if (other !== undefined) {
      const message = `The same file also appears as ${other}. Keep only the right one.`
      this.#log.add(aboutFile('error', 'duplicate-file', name, message))
      return
    }
    this.#names.set(key, name)
    if (name === `${known}.csv`) return
    const message = `Read as ${known}.csv, which is how the standard spells it.`
    this.#log.add(aboutFile('warning', 'file-name-case', name, message))
  }

  #unknownFile(name: string, reason: string): void {
    this.#log.add(aboutFile('warning', 'unknown-file', name, `${reason}; it was ignored.`))
  }

  async #readManifest(): Promise<Version> {
    // Only 1.2 has these files; 1.1 has their content in users.csv.
    const inferred = this.#names.has('roles') || this.#names.has('userprofiles') ? '1.2' : '1.1'
    const name = this.#names.get('manifest')
    if (name === undefined) {
      const message = `There is no manifest.csv. The files were read as OneRoster ${inferred}.`
      this.#log.add(aboutFile('warning', 'missing-manifest', this.#archive.name, message))
      return inferred
    }
    this.#manifest = await readManifest(this.#archive, name, this.#meter, this.#log.add.bind(this.#log))
    return this.#manifest.version ?? inferred
  }

  #compareWithManifest(file: DataFile, name: string | undefined): void {
    const said = this.#manifest.modes.get(file.name.toLowerCase())
    if (said === undefined) return
    const about = {
      file: this.#names.get('manifest')!,
      line: said.line,
      column: 'value',
      value: said.mode,
    }
    if (name === undefined && said.mode !== 'absent') {
      const message = `The manifest lists ${file.name}.csv, but the file is missing. Add it, or write absent.`
      this.#log.add({ ...about, severity: 'error', code: 'missing-file', message })
    } else if (name !== undefined && said.mode === 'absent') {
      const message = `The manifest says that ${file.name}.csv is absent, but it is present. It was read.`
      this.#log.add({ ...about, severity: 'warning', code: 'unexpected-file', message })
    }
  }

  async #readFiles(version: Version): Promise<void> {
    for (const file of dataFiles) {
      const name = this.#names.get(file.name.toLowerCase())
      this.#compareWithManifest(file, name)
      if (name === undefined) continue
      const columns = file.columns[version]
      if (columns) await this.#readFile(file, name, columns, version)
      else this.#unknownFile(name, `OneRoster ${version} has no such file`)
    }
  }

  async #readFile(file: DataFile, name: string, columns: FileColumns, version: Version): Promise<void> {
    const { kind } = file
    const finding = this.#log.add.bind(this.#log)
    const seen = { ids: kind ? this.#sink.ids(kind) : new Ids(), lines: new Numbers() }
    const mode = this.#modeOf(file.name)
    let cells: Cells | undefined
    let idColumn = 0
    const bad = (sourcedId: string | null) => {
      if (kind) this.#sink.bad(kind, sourcedId)
    }
    const other = file.columns[version === '1.1' ? '1.2' : '1.1']
    const source = await this.#archive.open(name)
    const isRead = await readCsv(
      { name, source, columns, foreign: other?.all ?? [] },
      {
        finding,
        header: (found) => {
          idColumn = found.get('sourcedId')!
          cells = new Cells({ file: name, version, expected: columns, columns: found, finding })
        },
        row: (row, line) => {
          this.#countRow()
          cells!.moveTo(row, line)
          const record = this.#readRow(kind, mode, cells!, seen)
          if (record) this.#sink.record(record)
          else if (cells!.failed) bad(cells!.raw('sourcedId') || null)
        },
        bad: (row) => {
          this.#countRow()
          bad(row[idColumn]?.trim() || null)
        },
      },
    )
    if (!isRead && kind) this.#sink.unread(kind)
    const said = this.#manifest.modes.get(file.name.toLowerCase())
    const manifest = this.#names.get('manifest') ?? name
    this.#status.closeFile(name, mode, said, manifest, this.#log)
  }

  #readRow(kind: Kind | null, mode: Mode | null, cells: Cells, seen: Seen): RosterRecord | null {
    const isDeleted = this.#status.isDeleted(cells, mode)
    // A row that deletes a record need not be filled in.
    if (!isDeleted) cells.checkNeeded()
    const sourcedId = cells.id('sourcedId')
    if (sourcedId === null && isDeleted && !cells.failed)
      cells.tell('error', 'missing-value', 'sourcedId', 'Without it, the record to delete is unknown.')
    const earlier = sourcedId === null ? null : lineBefore(sourcedId, cells.line, seen)
    if (kind === null) {
      cells.id('userSourcedId')
      return null
    }
    const data = isDeleted ? null : readData[kind](cells)
    if (cells.failed || sourcedId === null) return null
    const record = { kind, sourcedId, data, file: cells.file, line: cells.line }
    if (earlier === null) return record
    if (this.#sink.repeats(record))
      cells.tell('warning', 'repeated-row', 'sourcedId', `The same as line ${earlier}; it was read once.`)
    else
      cells.tell(
        'error',
        'duplicate-id',
        'sourcedId',
        `Line ${earlier} and line ${cells.line} have the same sourcedId and differ. Keep the right one.`,
      )
    return null
  }

  #countRow(): void {
    this.#rows++
    this.#meter.row()
    if (this.#rows % rowsBetweenProgress === 0) this.#sink.progress(this.#rows)
  }
}

/** The sourcedIds of a file, and the line of each. */
interface Seen {
  readonly ids: Ids
  readonly lines: Numbers
}

/** The line that has this sourcedId already, or null. */
function lineBefore(sourcedId: string, line: number, { ids, lines }: Seen): number | null {
  const number = ids.add(sourcedId)
  if (number < lines.length) return lines.at(number)
  lines.push(line)
  return null
}

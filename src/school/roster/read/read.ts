/**
 * Reads a roster in OneRoster CSV 1.1 or 1.2 from a zip or folder: the manifest, then each file in the order of
 * `kinds`. Records go to the sink row by row, and findings to the log; a row with an error yields no record.
 * References between files are checked later (checks/).
 */

import { bare, nearest } from '../../../platform/lib/nearest.ts'
import { Meter } from '../bounds.ts'
import { aboutFile, FatalFinding, type FindingLog, fatal, shown } from '../findings.ts'
import type { Kind, Mode, Repeat, RosterFile, RosterSink } from '../records.ts'
import { type Archive, openArchive } from './archive.ts'
import { Cells } from './cells.ts'
import { type DataFile, dataFiles, type FileColumns, ignoredFiles, type Version } from './columns.ts'
import { readCsv } from './csv.ts'
import { headerOf, otherByHeaders, rosterContents } from './foreign.ts'
import { noManifest, readManifest, saidOf } from './manifest.ts'
import { readData } from './rows.ts'
import { StatusReader } from './status.ts'

export { type Archive, openArchive } from './archive.ts'
export { dataFiles } from './columns.ts'
export { breaksIn, closingQuote } from './csv-rows.ts'
export { meetingsText, parseMeetings } from './meetings.ts'
export { isDay, parseId, parsePersonName, parseText } from './values.ts'

const rowsBetweenProgress = 1000

export interface ReadOptions {
  /** Overrides the manifest. */
  readonly mode: Mode | null
  readonly meter?: Meter
  /** For messages. */
  readonly shownPath?: string | undefined
}

/** Throws a UsageError if there is nothing at `path`. */
export async function readRoster(
  path: string,
  { mode, meter = new Meter(), shownPath = path }: ReadOptions,
  log: FindingLog,
  sink: RosterSink,
): Promise<RosterFile> {
  const archive = await openArchive(path, meter.bounds.octetsMax, rosterContents(shownPath))
  try {
    return await new RosterReader(archive, { mode, meter }, log, sink).read(shownPath)
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

  constructor(
    archive: Archive,
    { mode, meter }: Required<Pick<ReadOptions, 'mode' | 'meter'>>,
    log: FindingLog,
    sink: RosterSink,
  ) {
    this.#archive = archive
    this.#mode = mode
    this.#meter = meter
    this.#log = log
    this.#sink = sink
  }

  async read(shownPath: string): Promise<RosterFile> {
    for (const finding of this.#archive.findings) this.#log.add(finding)
    let version: Version = '1.1'
    if (!this.#log.failsAsAWhole) {
      try {
        const starts = await this.#starts()
        const other = otherByHeaders(starts, this.#archive.names, shownPath)
        if (other !== null) throw fatal('not-a-roster', this.#archive.name, other)
        this.#sortOut()
        version = await this.#readManifest(headerOf(starts.get('users') ?? Buffer.alloc(0)))
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

  /** Of the CSV files at the top, by name in lower case without `.csv`. */
  async #starts(): Promise<Map<string, Buffer>> {
    const names = this.#archive.names.filter((name) => /^[^/]*\.csv$/i.test(name))
    const isOwn = (name: string) => lookedAt.has(name.slice(0, -4).toLowerCase())
    const starts = new Map<string, Buffer>()
    for (const name of names.some(isOwn) ? names.filter(isOwn) : names)
      starts.set(name.slice(0, -4).toLowerCase(), await this.#archive.start(name))
    return starts
  }

  #modes(): Pick<RosterFile, 'modes' | 'modeFrom'> {
    const looksLike = this.#status.set.form === 'dated' ? 'delta' : 'bulk'
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
      const message = `There is no ${name}.csv, which a complete set needs. ${this.#toAdd(name)}`
      this.#log.add(aboutFile('error', 'missing-part', this.#archive.name, message))
    }
    return missing.map(({ name }) => `${name}.csv`)
  }

  #sortOut(): void {
    const standard = ['manifest', ...dataFiles.map(({ name }) => name), ...ignoredFiles]
    const spelling = new Map(standard.map((name) => [`${name}.csv`.toLowerCase(), name]))
    for (const name of this.#archive.names) {
      const known = spelling.get(name.toLowerCase())
      if (known !== undefined) this.#sortIn(known, name)
      else if (!name.includes('/')) this.#unknownFile(name, 'This is not a file of the OneRoster standard')
    }
    const folders = new Set(this.#archive.names.flatMap((name) => /^.*\//.exec(name)?.[0] ?? []))
    for (const folder of folders) this.#unknownFile(folder, 'The set is not in this folder of the zip')
    if (dataFiles.some((file) => this.#names.has(file.name.toLowerCase()))) return
    const similar = this.#similarTo('users')
    const message =
      similar === undefined
        ? 'It has no OneRoster CSV file, such as users.csv, at its top level. Use the exported zip unchanged, or the folder that contains the CSV files.'
        : `Its files are not named as OneRoster names them: rename ${similar} to users.csv, and the others likewise.`
    throw fatal('no-files', this.#archive.name, message)
  }

  /** A file that is not of the standard but is probably meant to be this one. */
  #similarTo(file: string): string | undefined {
    const wanted = bare(file)
    return this.#archive.names.find((name) => {
      const stem = bare(name.replace(/(\.(csv|txt))+$/i, ''))
      return !this.#isStandard(name) && (stem.includes(wanted) || nearest(stem, [wanted]) !== undefined)
    })
  }

  #isStandard(name: string): boolean {
    return [...this.#names.values()].includes(name)
  }

  #toAdd(file: string): string {
    const similar = this.#similarTo(file)
    return similar === undefined ? 'Export it too.' : `Rename ${similar} to ${file}.csv.`
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

  async #readManifest(users: readonly string[]): Promise<Version> {
    // Only 1.2 has these files; 1.1 has their content in users.csv.
    const hasRoles = this.#names.has('roles')
    const isOf11 = users.includes('role') || users.includes('orgsourcedids')
    const isOf12 = hasRoles || this.#names.has('userprofiles') || (users.includes('sourcedid') && !isOf11)
    const inferred = isOf12 ? '1.2' : '1.1'
    const name = this.#names.get('manifest')
    if (name === undefined) {
      const message = `There is no manifest.csv. The files were read as OneRoster ${inferred}.`
      this.#log.add(aboutFile('warning', 'missing-manifest', this.#archive.name, message))
      return inferred
    }
    this.#manifest = await readManifest(this.#archive, name, this.#meter, this.#log.add.bind(this.#log))
    const { version } = this.#manifest
    if (version === '1.2' && !hasRoles && users.includes('role'))
      throw this.#versionDiffers('1.1', 'users.csv has the roles, and there is no roles.csv')
    if (version === '1.1' && hasRoles && users.includes('sourcedid') && !isOf11)
      throw this.#versionDiffers('1.2', 'the roles are in roles.csv, not in users.csv')
    return version ?? inferred
  }

  #versionDiffers(actual: Version, because: string): FatalFinding {
    const { line, value } = this.#manifest.versionAt!
    const message = `The manifest says ${value}, but the files are those of ${actual}: ${because}. Write ${actual} here if the files are right, or export everything as ${value}.`
    const about = { file: this.#names.get('manifest')!, line, column: 'value', value, message }
    return new FatalFinding({ severity: 'error', code: 'version-differs', ...about })
  }

  #compareWithManifest(file: DataFile, name: string | undefined): void {
    const said = this.#manifest.modes.get(file.name.toLowerCase())
    if (said === undefined) return
    const manifest = this.#names.get('manifest')!
    const about = { file: manifest, line: said.line, column: 'value', value: said.mode }
    if (name === undefined && said.mode !== 'absent') {
      const orAbsent = file.vital ? '' : ' If there is none, write absent here.'
      const message = `The manifest lists ${file.name}.csv, but the file is missing. ${this.#toAdd(file.name)}${orAbsent}`
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
    const mode = this.#modeOf(file.name)
    let cells: Cells | undefined
    let idColumn = 0
    const other = file.columns[version === '1.1' ? '1.2' : '1.1']
    const source = this.#archive.open(name)
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
          this.#readRow(kind, mode, cells!)
        },
        bad: (row) => {
          this.#countRow()
          if (kind) this.#sink.bad({ kind, sourcedId: row[idColumn]?.trim() || null, line: null })
        },
      },
    )
    if (!isRead && kind) this.#sink.unread(kind)
    if (kind) for (const repeat of this.#sink.finish(kind)) this.#tellRepeat(repeat, name)
    const said = this.#manifest.modes.get(file.name.toLowerCase())
    const odd = this.#status.closeFile(name, mode, this.#names.get('manifest') ?? name, said)
    if (odd) this.#log.add(odd)
  }

  #readRow(kind: Kind | null, mode: Mode | null, cells: Cells): void {
    const isDeleted = this.#status.isDeleted(cells, mode)
    // A row that deletes a record need not be filled in.
    if (!isDeleted) cells.checkNeeded()
    const sourcedId = cells.id('sourcedId')
    if (sourcedId === null && isDeleted && !cells.failed)
      cells.tell('error', 'missing-value', 'sourcedId', 'Without it, the record to delete is unknown.')
    if (kind === null) {
      cells.id('userSourcedId')
      return
    }
    const data = isDeleted ? null : readData[kind](cells)
    const { file, line } = cells
    if (!cells.failed) this.#sink.record({ kind, sourcedId: sourcedId!, data, file, line })
    else if (sourcedId !== null) this.#sink.bad({ kind, sourcedId, line })
    else this.#sink.bad({ kind, sourcedId: cells.raw('sourcedId') || null, line: null })
  }

  #tellRepeat({ kind, sourcedId, line, first, isSame }: Repeat, file: string): void {
    const about = { file, line, column: 'sourcedId', value: shown('sourcedId', sourcedId) }
    if (isSame) {
      const message = `The same as line ${first}; it was read once.`
      this.#log.addByLine({ ...about, severity: 'warning', code: 'repeated-row', message })
      return
    }
    const message = `Line ${first} and line ${line} have the same sourcedId and differ. Keep the right one.`
    this.#log.addByLine({ ...about, severity: 'error', code: 'duplicate-id', message })
    this.#sink.bad({ kind, sourcedId, line: null })
  }

  #countRow(): void {
    this.#rows++
    this.#meter.row()
    if (this.#rows % rowsBetweenProgress === 0) this.#sink.progress(this.#rows)
  }
}

/** Files whose first lines tell whether this is a OneRoster set, and of which version. */
const lookedAt: ReadonlySet<string> = new Set(['users', 'roles', 'enrollments'])

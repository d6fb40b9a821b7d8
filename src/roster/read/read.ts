/**
 * Reads a roster in OneRoster CSV 1.1 or 1.2 from a zip or folder: the manifest, then each file in the order of
 * `kinds`. Records and findings go to the sink row by row; a row with an error yields no record. References between
 * files are checked later, in the plan.
 */

import { aboutFile, FindingLog } from '../findings.ts'
import type { Kind, Mode, RosterFile, RosterRecord, RosterSink } from '../records.ts'
import { type Archive, ArchiveError, openArchive } from './archive.ts'
import { Cells } from './cells.ts'
import { type DataFile, dataFiles, type FileColumns, ignoredFiles, type Version } from './columns.ts'
import { readCsv } from './csv.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { ModeWatch } from './mode.ts'
import { readData } from './rows.ts'

const rowsBetweenProgress = 1000

/** Throws a UsageError if `path` has nothing readable. */
export async function readRoster(path: string, sink: RosterSink): Promise<RosterFile> {
  const archive = await openArchive(path)
  const log = new FindingLog(archive.name, (finding) => sink.finding(finding))
  try {
    const file = await new RosterReader(archive, log, sink).read()
    log.close()
    return file
  } finally {
    archive.close()
  }
}

class RosterReader {
  readonly #archive: Archive
  readonly #log: FindingLog
  readonly #sink: RosterSink
  /** Name in the archive, by name in lower case without `.csv`. */
  readonly #names = new Map<string, string>()
  readonly #modes: Partial<Record<Kind, Mode>> = {}
  #manifest: Manifest = { version: null, modes: new Map() }
  #rows = 0

  constructor(archive: Archive, log: FindingLog, sink: RosterSink) {
    this.#archive = archive
    this.#log = log
    this.#sink = sink
  }

  async read(): Promise<RosterFile> {
    for (const finding of this.#archive.findings) this.#log.add(finding)
    let version: Version = '1.1'
    if (!this.#archive.findings.some((finding) => finding.severity === 'error')) {
      this.#sortOut()
      try {
        version = await this.#readManifest()
        await this.#readFiles(version)
      } catch (error) {
        // After one failure the rest of the archive cannot be trusted.
        if (!(error instanceof ArchiveError)) throw error
        this.#log.add(error.finding)
      }
    }
    this.#sink.progress(this.#rows)
    const { name, sha256 } = this.#archive
    return { name, sha256, version, modes: this.#modes, rows: this.#rows }
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
      'There is no CSV file of a OneRoster export, such as users.csv, at its top. Give the zip as it was exported, or the folder that holds the CSV files.'
    this.#log.add(aboutFile('error', 'no-files', this.#archive.name, message))
  }

  #sortIn(known: string, name: string): void {
    const key = known.toLowerCase()
    const other = this.#names.get(key)
    if (other !== undefined) {
      const message = `The same file is there as ${other}. Leave only the right one.`
      this.#log.add(aboutFile('error', 'duplicate-file', name, message))
      return
    }
    this.#names.set(key, name)
    if (name === `${known}.csv`) return
    const message = `Read as ${known}.csv, which is how the standard writes it.`
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
    this.#manifest = await readManifest(this.#archive, name, (finding) => this.#log.add(finding))
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
      const message = `The manifest announces ${file.name}.csv, but the file is not there. Add it, or write absent.`
      this.#log.add({ ...about, severity: 'error', code: 'missing-file', message })
    } else if (name !== undefined && said.mode === 'absent') {
      const message = `The manifest says that ${file.name}.csv is absent, but it is there. It was read.`
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
    const said = this.#manifest.modes.get(file.name.toLowerCase())
    const mode = new ModeWatch(name, said, this.#names.get('manifest'), this.#log)
    const lines = new Map<string, number>()
    let cells: Cells | undefined
    const other = file.columns[version === '1.1' ? '1.2' : '1.1']
    const source = await this.#archive.open(name)
    await readCsv(
      { name, source, columns, foreign: other?.all ?? [] },
      {
        finding: (finding) => this.#log.add(finding),
        header: (found) => {
          const finding = this.#log.add.bind(this.#log)
          cells = new Cells({ file: name, version, expected: columns, columns: found, finding })
        },
        row: (row, line) => {
          this.#countRow()
          cells!.moveTo(row, line)
          const record = readRow(file.kind, cells!, mode, lines)
          if (record) this.#sink.record(record)
        },
      },
    )
    const found = mode.close()
    if (file.kind) this.#modes[file.kind] = found
  }

  #countRow(): void {
    this.#rows++
    if (this.#rows % rowsBetweenProgress === 0) this.#sink.progress(this.#rows)
  }
}

function readRow(
  kind: Kind | null,
  cells: Cells,
  mode: ModeWatch,
  lines: Map<string, number>,
): RosterRecord | null {
  const deleted = mode.isDeleted(cells)
  // A row that deletes a record need not be filled in.
  if (!deleted) cells.checkNeeded()
  const sourcedId = cells.id('sourcedId')
  if (sourcedId !== null) checkDuplicate(sourcedId, cells, lines)
  else if (deleted && !cells.failed)
    cells.tell('error', 'missing-value', 'sourcedId', 'Without it, it is unclear which record to delete.')
  if (kind === null) {
    cells.id('userSourcedId')
    return null
  }
  const data = readData[kind](cells)
  if (cells.failed || sourcedId === null) return null
  return { kind, sourcedId, deleted, data, file: cells.file, line: cells.line }
}

function checkDuplicate(sourcedId: string, cells: Cells, lines: Map<string, number>): void {
  const first = lines.get(sourcedId)
  if (first === undefined) {
    lines.set(sourcedId, cells.line)
    return
  }
  const message = `Line ${first} and line ${cells.line} have the same sourcedId. Each must have its own.`
  cells.tell('error', 'duplicate-id', 'sourcedId', message)
}

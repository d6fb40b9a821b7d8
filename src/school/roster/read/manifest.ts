/** Reads manifest.csv: the version of the roster, and the mode that it declares for each file. */

import type { Meter } from '../bounds.ts'
import type { CodedFinding, FindingCode } from '../findings.ts'
import { shown } from '../findings.ts'
import type { Finding, Mode } from '../records.ts'
import type { Archive } from './archive.ts'
import { manifestColumns, type Version } from './columns.ts'
import { readCsv } from './csv.ts'
import type { Columns } from './header.ts'
import { parseEnumeration } from './values.ts'

export interface Said {
  readonly mode: string
  readonly line: number
}

export interface Manifest {
  /** null: missing or refused. */
  readonly version: Version | null
  /** Where it says so; null if it does not. */
  readonly versionAt: { readonly line: number; readonly value: string } | null
  /** By file name in lower case, without `.csv`. */
  readonly modes: ReadonlyMap<string, Said>
}

export const noManifest: Manifest = { version: null, versionAt: null, modes: new Map() }

/** The declared mode of this file or, if it is not listed, the one of all listed files. */
export function saidOf(manifest: Manifest, file: string): Mode | null {
  const own = manifest.modes.get(file.toLowerCase())?.mode
  if (own === 'bulk' || own === 'delta') return own
  const others = new Set([...manifest.modes.values()].map(({ mode }) => mode))
  if (others.has('bulk') === others.has('delta')) return null
  return others.has('bulk') ? 'bulk' : 'delta'
}

const versions: ReadonlyMap<string, Version> = new Map([
  ['1.1', '1.1'],
  ['1.1.0', '1.1'],
  ['1.2', '1.2'],
  ['1.2.0', '1.2'],
  ['1.2.1', '1.2'],
])

export async function readManifest(
  archive: Archive,
  name: string,
  meter: Meter,
  finding: (finding: CodedFinding) => void,
): Promise<Manifest> {
  const reader = new ManifestReader(name, finding)
  let columns: Columns = new Map()
  const file = { name, source: await archive.open(name), columns: manifestColumns, foreign: [] }
  await readCsv(file, {
    finding,
    header(found) {
      columns = found
    },
    row(cells, line) {
      meter.row()
      const cell = (column: string) => cells[columns.get(column)!]!.trim()
      reader.property(cell('propertyName'), cell('value'), line)
    },
    bad() {},
  })
  // If the header was refused, that error has already been reported.
  if (columns.size > 0) reader.checkVersions()
  return reader.manifest
}

class ManifestReader {
  readonly #name: string
  readonly #finding: (finding: CodedFinding) => void
  readonly #modes = new Map<string, Said>()
  #versionAt: Manifest['versionAt'] = null
  #version: Version | null = null

  constructor(name: string, finding: (finding: CodedFinding) => void) {
    this.#name = name
    this.#finding = finding
  }

  get manifest(): Manifest {
    return { version: this.#version, versionAt: this.#versionAt, modes: this.#modes }
  }

  property(written: string, value: string, line: number): void {
    const property = written.toLowerCase()
    if (property === 'manifest.version') this.#manifestVersion(value, line)
    else if (property === 'oneroster.version') this.#oneRosterVersion(value, line)
    else if (property.startsWith('file.')) this.#mode(property.slice('file.'.length), value, line)
  }

  checkVersions(): void {
    if (this.#versionAt) return
    const message =
      'The manifest has no oneroster.version, so it was inferred from the files. Expected 1.1 or 1.2.'
    this.#tell('warning', 'missing-version', null, null, message)
  }

  #manifestVersion(value: string, line: number): void {
    if (value === '1.0') return
    this.#tell('warning', 'manifest-version', line, value, 'Expected 1.0; it was read as 1.0.')
  }

  #oneRosterVersion(value: string, line: number): void {
    this.#versionAt = { line, value }
    this.#version = versions.get(value) ?? null
    if (this.#version !== null) return
    const message =
      'Chiron reads OneRoster 1.1, 1.2 and 1.2.1. Choose one of them for the export, or write it here if a spreadsheet has changed the cell.'
    this.#tell('error', 'unsupported-version', line, value, message)
  }

  #mode(file: string, value: string, line: number): void {
    if (value === '') {
      const message = 'Expected absent, bulk or delta. The line was ignored.'
      this.#tell('warning', 'bad-manifest-mode', line, value, message)
      return
    }
    const mode = parseEnumeration(value, 'mode', '1.1', (severity, code, message) =>
      this.#tell(severity, code === 'bad-enumeration' ? 'bad-manifest-mode' : code, line, value, message),
    )
    if (mode !== null) this.#modes.set(file, { mode, line })
  }

  #tell(
    severity: Finding['severity'],
    code: FindingCode,
    line: number | null,
    value: string | null,
    message: string,
  ): void {
    const file = this.#name
    this.#finding({
      severity,
      code,
      file,
      line,
      column: 'value',
      value: value === null ? null : shown(null, value),
      message,
    })
  }
}

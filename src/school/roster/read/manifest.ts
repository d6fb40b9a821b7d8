/** Reads manifest.csv: the version of the roster, and the mode that it declares for each file. */

import type { Meter } from '../bounds.ts'
import { aboutFile, type CodedFinding, type FindingCode, shown } from '../findings.ts'
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
  const modes = new Map<string, Said>()
  const manifest: { -readonly [K in keyof Manifest]: Manifest[K] } = { ...noManifest, modes }
  let columns: Columns = new Map()
  const takeRow = (property: string, value: string, line: number) => {
    const tell = (severity: Finding['severity'], code: FindingCode, message: string) =>
      finding({
        ...aboutFile(severity, code, name, message),
        line,
        column: 'value',
        value: shown(null, value),
      })
    if (property === 'manifest.version' && value !== '1.0')
      tell('warning', 'manifest-version', 'Expected 1.0; it was read as 1.0.')
    else if (property === 'oneroster.version') {
      manifest.versionAt = { line, value }
      manifest.version = versions.get(value) ?? null
      if (manifest.version === null) tell('error', 'unsupported-version', versionsRead)
    } else if (property.startsWith('file.') && value === '')
      tell('warning', 'bad-manifest-mode', 'Expected absent, bulk or delta. The line was ignored.')
    else if (property.startsWith('file.')) {
      const mode = parseEnumeration(value, 'mode', '1.1', (severity, code, message) =>
        tell(severity, code === 'bad-enumeration' ? 'bad-manifest-mode' : code, message),
      )
      if (mode !== null) modes.set(property.slice('file.'.length), { mode, line })
    }
  }
  const source = archive.open(name)
  await readCsv(
    { name, source, columns: manifestColumns, foreign: [] },
    {
      finding,
      header(found) {
        columns = found
      },
      row(cells, line) {
        meter.row()
        const cell = (column: string) => cells[columns.get(column)!]!.trim()
        takeRow(cell('propertyName').toLowerCase(), cell('value'), line)
      },
      bad() {},
    },
  )
  // If the header was refused, that error has already been reported.
  if (columns.size > 0 && manifest.versionAt === null)
    finding({ ...aboutFile('warning', 'missing-version', name, noVersion), column: 'value' })
  return manifest
}

const versionsRead =
  'Chiron reads OneRoster 1.1, 1.2 and 1.2.1. Choose one of them for the export, or write it here if a spreadsheet has changed the cell.'
const noVersion =
  'The manifest has no oneroster.version, so it was inferred from the files. Expected 1.1 or 1.2.'

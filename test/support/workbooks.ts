/** Excel workbooks as Excel writes them: shared strings, styles, formulas. */
import { packZip } from './roster-files.ts'

/** Text, or a cell as XML inside `<c r="…"`: `s="1"><v>45000</v></c>`. */
export type WorkbookCell = string | { readonly raw: string } | null

export interface WorkbookOptions {
  /** Format codes; style 1 is the first of them. */
  readonly formats?: readonly string[]
  readonly is1904?: boolean
  /** Attributes of each sheet element by name, such as `state="hidden"`. */
  readonly attributes?: Readonly<Record<string, string>>
  readonly parts?: Readonly<Record<string, string>>
}

export type Grid = readonly (readonly WorkbookCell[])[]

export async function packWorkbook(
  sheets: Readonly<Record<string, Grid>>,
  options: WorkbookOptions = {},
): Promise<Buffer> {
  const strings: string[] = []
  const names = Object.keys(sheets)
  const parts: Record<string, string> = {
    '[Content_Types].xml': '<?xml version="1.0"?><Types/>',
    'xl/workbook.xml': `<?xml version="1.0"?><workbook xmlns:r="r"><workbookPr${options.is1904 ? ' date1904="1"' : ''}/><sheets>${names
      .map(
        (name, i) =>
          `<sheet name="${name}" sheetId="${i + 1}" ${options.attributes?.[name] ?? ''} r:id="rId${i + 1}"/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${names
      .map((_, i) => `<Relationship Id="rId${i + 1}" Target="worksheets/sheet${i + 1}.xml"/>`)
      .join('')}</Relationships>`,
    'xl/styles.xml': stylesOf(options.formats ?? []),
  }
  for (const [i, name] of names.entries())
    parts[`xl/worksheets/sheet${i + 1}.xml`] = sheetOf(sheets[name]!, strings)
  parts['xl/sharedStrings.xml'] =
    `<sst>${strings.map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`).join('')}</sst>`
  return packZip({ ...parts, ...options.parts })
}

function stylesOf(formats: readonly string[]): string {
  const own = formats.map((code, i) => `<numFmt numFmtId="${164 + i}" formatCode="${escaped(code)}"/>`)
  const used = formats.map((_, i) => `<xf numFmtId="${164 + i}"/>`)
  return `<styleSheet><numFmts>${own.join('')}</numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${used.join('')}</cellXfs></styleSheet>`
}

function sheetOf(grid: Grid, strings: string[]): string {
  const rows = grid.map((cells, i) => {
    const texts = cells.map((cell, column) => {
      if (cell === null || cell === '') return ''
      const at = `<c r="${letter(column)}${i + 1}" `
      if (typeof cell !== 'string') return at + cell.raw
      strings.push(cell)
      return `${at}t="s"><v>${strings.length - 1}</v></c>`
    })
    return `<row r="${i + 1}" spans="1:20">${texts.join('')}</row>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<worksheet><dimension ref="A1"/><sheetData>${rows.join('')}</sheetData></worksheet>`
}

const letter = (column: number) => String.fromCharCode(65 + column)
const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

/** A number in the given style. */
export const number = (value: number | string, style = 0): WorkbookCell => ({
  raw: `s="${style}"><v>${value}</v></c>`,
})

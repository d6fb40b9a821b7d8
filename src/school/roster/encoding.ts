/** Decodes text that spreadsheets and other programs save. */
import { isUtf8 } from 'node:buffer'

/** null: UTF-8, as it should be, or a workbook. */
export type Encoding = 'UTF-16' | 'Windows-1252' | null

export function decoded(bytes: Buffer): { text: string; encoding: Encoding } {
  const [first, second] = bytes
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0)
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0)
  if (isBig || isLittle)
    return { text: new TextDecoder(isBig ? 'utf-16be' : 'utf-16le').decode(bytes), encoding: 'UTF-16' }
  if (isUtf8(bytes)) return { text: new TextDecoder().decode(bytes), encoding: null }
  return { text: new TextDecoder('windows-1252').decode(bytes), encoding: 'Windows-1252' }
}

/**
 * Reads the parts of a workbook as they stream in. A document type is refused, because entity definitions can expand
 * without limit. Namespaces are dropped.
 */
import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'

export type Attributes = Readonly<Record<string, string>>

export interface XmlTaker {
  open(name: string, attributes: Attributes): void
  text(text: string): void
  close(name: string): void
}

export class XmlError extends Error {
  override readonly name = 'XmlError'
}

/** Longer than any tag, comment or text of a workbook. */
const charactersBetweenTagsMax = 1024 * 1024
/** The parser keeps each open tag. Those of a workbook are about ten deep. */
const depthMax = 256

/** Yields after each chunk: a turn of the event loop for each tag would cost more than the parsing. */
export async function* parseXml(chunks: AsyncIterable<Buffer>, taker: XmlTaker): AsyncGenerator<void> {
  const decoder = new StringDecoder('utf8')
  const parser = new SaxesParser()
  let isEnd = false
  let waiting = 0
  let depth = 0
  parser.on('opentag', ({ name, attributes }) => {
    waiting = 0
    if (++depth > depthMax) throw new XmlError('its tags are nested too deeply')
    taker.open(localName(name), attributes)
  })
  parser.on('closetag', ({ name }) => {
    waiting = 0
    depth--
    taker.close(localName(name))
  })
  parser.on('text', (text) => taker.text(text))
  parser.on('cdata', (text) => taker.text(text))
  parser.on('doctype', () => {
    throw new XmlError('it has a document type')
  })
  parser.on('error', () => {
    throw new XmlError(isEnd ? 'the end is missing' : 'it is not well-formed')
  })
  for await (const chunk of chunks) {
    const text = decoder.write(chunk)
    waiting += text.length
    parser.write(text)
    if (waiting > charactersBetweenTagsMax) throw new XmlError('a tag has no end')
    yield
  }
  isEnd = true
  parser.close()
}

/** Without the prefix of a namespace. */
export const localName = (name: string) => name.slice(name.indexOf(':') + 1)

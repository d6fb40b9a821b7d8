/** The examples of the documents that operators follow. */
import { readFileSync } from 'node:fs'

export interface Block {
  /** `docs/operating.md:40` */
  readonly at: string
  readonly heading: string
  readonly language: string
  readonly text: string
}

/** In the order in which somebody follows them. */
export const pages = [
  'docs/operating.md',
  'docs/mail.md',
  'docs/backup.md',
  'deploy/README.md',
  'docs/upgrading.md',
  'docs/schools.md',
] as const
export type Page = (typeof pages)[number]

export function blocksOf(page: Page): Block[] {
  const source = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
  return [...source.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].map(
    ({ index, 1: indent, 2: language, 3: text }) => {
      const before = source.slice(0, index)
      return {
        at: `${page}:${before.split('\n').length}`,
        heading:
          before
            .match(/^#+ .*$/gm)
            ?.at(-1)
            ?.replace(/^#+ /, '') ?? '',
        language: language!,
        text: text!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      }
    },
  )
}

/** Whether all it has are commands of Chiron, which the user of the service may type as well as root. */
export const isOfChiron = ({ text }: Block) =>
  text
    .trim()
    .split('\n')
    .every((line) => line.startsWith('chiron '))

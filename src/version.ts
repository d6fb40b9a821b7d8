import { readFileSync } from 'node:fs'

/** As other programs see it. */
export const userAgent = () => `Chiron/${packageVersion()}`

export function packageVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

import { readFileSync } from 'node:fs'

/** The name of the service for other programs. */
export const userAgent = () => `Chiron/${packageVersion()}`

export function packageVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

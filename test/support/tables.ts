/** Searches the tables of a store for words. */
import type { Service } from './service.ts'

const tables = [
  'person',
  'registration',
  'challenge',
  'session',
  'event',
  'outbox',
  'notice',
  'notice_budget',
  'bucket',
  'quota',
  'failure',
  'known_network',
  'signing_key',
]

export async function rowsHolding(service: Service, ...words: string[]): Promise<string[]> {
  const found: string[] = []
  for (const table of tables) {
    for (const row of await service.rows<Record<string, unknown>>(`select * from ${table}`)) {
      const text = JSON.stringify(row).toLowerCase()
      if (words.some((word) => text.includes(word.toLowerCase()))) found.push(`${table}: ${text}`)
    }
  }
  return found
}

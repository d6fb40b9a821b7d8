/** Reads /metrics as Prometheus does. */
import assert from 'node:assert/strict'

export class Scrape {
  readonly text: string
  readonly #values = new Map<string, number>()

  constructor(text: string) {
    this.text = text
    for (const line of text.split('\n')) {
      if (line === '' || line.startsWith('#')) continue
      const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
      assert.ok(match, `not a line of Prometheus: ${line}`)
      const key = keyOf(match[1]!, labelsIn(match[2] ?? ''))
      assert.ok(!this.#values.has(key), `twice: ${line}`)
      this.#values.set(key, Number(match[3]))
    }
  }

  value(name: string, labels: Record<string, string> = {}): number | undefined {
    return this.#values.get(keyOf(name, labels))
  }

  /** Names without labels, and without the endings of histograms. */
  get names(): Set<string> {
    return new Set([...this.text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!))
  }

  /** Every value that a label has. */
  labelValues(label: string): string[] {
    return [...this.text.matchAll(new RegExp(`[{,]${label}="([^"]*)"`, 'g'))].map(([, value]) => value!)
  }
}

const keyOf = (name: string, labels: Record<string, string>) =>
  `${name}{${Object.entries(labels)
    .map(([label, value]) => `${label}=${value}`)
    .sort()
    .join()}}`

const labelsIn = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, value]) => [label!, value!]),
  )

export async function scrape(port: number): Promise<Scrape> {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`)
  assert.equal(reply.status, 200)
  assert.match(reply.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  return new Scrape(await reply.text())
}

/**
 * Resource limits for a roster, from any source. No school comes near these bounds; a file beyond one of them is
 * refused like any other bad file, instead of keeping a processor busy for minutes or running out of memory.
 */
import { getHeapStatistics } from 'node:v8'
import { aboutFile, FatalFinding, type FindingCode } from './findings.ts'

const mebibyte = 1024 * 1024

export interface Bounds {
  /** Of all files together. */
  readonly rowsMax: number
  /** Of all files together, unpacked. */
  readonly octetsMax: number
  /** Heap and lists of this thread. The largest real roster within the other bounds needs a third of it. */
  readonly memoryOctetsMax: number
}

export const usualBounds: Bounds = {
  rowsMax: 20_000_000,
  octetsMax: 200 * mebibyte,
  memoryOctetsMax: 1024 * mebibyte,
}

/** V8 ends the process, or the thread, at its limit. */
const heapShareMax = 0.9
const stepsBetweenChecks = 4096

/** Watches over one plan, from the first row that is read. */
export class Meter {
  readonly bounds: Bounds
  /** Of the roster, for findings. */
  readonly #name: string
  readonly #heapMax = getHeapStatistics().heap_size_limit * heapShareMax
  #rows = 0
  #steps = 0
  #isOver = false

  constructor(bounds = usualBounds, name = 'roster') {
    this.bounds = bounds
    this.#name = name
  }

  /** A row was read. */
  row(): void {
    if (++this.#rows > this.bounds.rowsMax) {
      const most = this.bounds.rowsMax.toLocaleString('en')
      this.#refuse(
        'too-many-rows',
        `The roster has more than ${most} rows, more than any school has: check the files and export them again.`,
      )
    }
    this.step()
  }

  /** To be called in every loop over rows of a file. */
  step(): void {
    if (++this.#steps % stepsBetweenChecks === 0 && !this.#isOver) this.#checkMemory()
  }

  /** The plan is made; from here on, memory no longer depends on the file alone. */
  end(): void {
    this.#isOver = true
  }

  #checkMemory(): void {
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    const { memoryOctetsMax } = this.bounds
    if (heapUsed + arrayBuffers <= memoryOctetsMax && heapUsed <= this.#heapMax) return
    this.#refuse('too-much-memory', tooMuchMemory)
  }

  #refuse(code: FindingCode, message: string): never {
    throw new FatalFinding(aboutFile('error', code, this.#name, message))
  }
}

export const tooMuchMemory =
  'The roster needs more memory than any real one: check the files and export them again.'

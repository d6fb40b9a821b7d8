/**
 * Resource limits for a roster, from any source. No school comes near these bounds; a file beyond one of them is
 * refused like any other bad file, instead of keeping a processor busy for minutes or running out of memory.
 */
import { getHeapStatistics } from 'node:v8'
import { minute } from '../../platform/lib/clock.ts'
import { type FatalFinding, type FindingCode, fatal } from './findings.ts'

const mebibyte = 1024 * 1024

export interface Bounds {
  /** Of all files together. */
  readonly rowsMax: number
  /** Of all files together, unpacked. */
  readonly octetsMax: number
  /** Of this thread's heap. A roster needs a fraction of it, since its rows are in a working file. */
  readonly memoryOctetsMax: number
  /** Of the working file. */
  readonly workOctetsMax: number
  /** In the cells of a workbook, in which many cells can share one long text. */
  readonly charactersMax: number
  /** Of the processor, so that a busy machine refuses nothing. */
  readonly processorMsMax: number
}

export const usualBounds: Bounds = {
  rowsMax: 20_000_000,
  octetsMax: 200 * mebibyte,
  memoryOctetsMax: 1024 * mebibyte,
  workOctetsMax: 4096 * mebibyte,
  charactersMax: 200_000_000,
  processorMsMax: 15 * minute,
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
  #characters = 0
  #isOver = false
  readonly #began = process.threadCpuUsage()

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

  /** A cell of a workbook was read. */
  cell(text: string): void {
    this.#characters += text.length
    if (this.#characters <= this.bounds.charactersMax) return
    const most = this.bounds.charactersMax.toLocaleString('en')
    this.#refuse(
      'unpacks-too-large',
      `The cells have more than ${most} characters, more than any list has: keep only the students in it.`,
    )
  }

  /** To be called in every loop over rows of a file. */
  step(): void {
    if (++this.#steps % stepsBetweenChecks !== 0 || this.#isOver) return
    this.#checkMemory()
    this.#checkTime()
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

  #checkTime(): void {
    const { user, system } = process.threadCpuUsage(this.#began)
    if (user + system > this.bounds.processorMsMax * 1000) this.#refuse('too-much-time', tooMuchTime)
  }

  /** The working file has reached its bound. */
  tooMuchWork(): FatalFinding {
    return fatal('too-much-memory', this.#name, tooMuchWork)
  }

  #refuse(code: FindingCode, message: string): never {
    throw fatal(code, this.#name, message)
  }
}

export const tooMuchMemory =
  'The roster needs more memory than any real one: check the files and export them again.'

const tooMuchWork =
  'The roster needs more room on the disk than any real one: check the files and export them again.'

export const tooMuchTime =
  'The roster takes longer to read and compare than any real one: check the files and export them again.'

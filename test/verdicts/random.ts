/** Drawn from a number: the same ones in every run. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** From 0 to 1, by mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }

  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  from(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  is(share: number): boolean {
    return this.next() < share
  }

  one<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!
  }

  /** Each with this chance, in their order. */
  some<T>(values: readonly T[], share: number): T[] {
    return values.filter(() => this.is(share))
  }

  shuffled<T>(values: readonly T[]): T[] {
    const rest = [...values]
    return values.map(() => rest.splice(this.below(rest.length), 1)[0]!)
  }
}

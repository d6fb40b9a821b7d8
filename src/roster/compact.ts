/**
 * Lists for a million rows. Objects and strings of that number would take most of a gigabyte; these keep bytes in large
 * pieces outside the heap, which the garbage collector need not look through either.
 */

const numbersAPiece = 1 << 16

/** A growing list of 32-bit integers. */
export class Numbers {
  length = 0
  readonly #pieces: Int32Array[] = []

  at(index: number): number {
    return this.#pieces[index >>> 16]![index & (numbersAPiece - 1)]!
  }

  /** Fills up with zeros if the list is shorter. */
  set(index: number, value: number): void {
    while (index >= this.#pieces.length * numbersAPiece) this.#pieces.push(new Int32Array(numbersAPiece))
    this.#pieces[index >>> 16]![index & (numbersAPiece - 1)] = value
    if (index >= this.length) this.length = index + 1
  }

  push(value: number): void {
    this.set(this.length, value)
  }
}

const pieceBits = 20
const octetsAPiece = 1 << pieceBits

/**
 * A growing list of texts. One octet for each ASCII character and three for each other UTF-16 unit, after a head with
 * the length and whether all are ASCII.
 */
export class Texts {
  readonly #starts = new Numbers()
  /** A text longer than a piece has a piece of its own, which stands here as often as it is longer. */
  readonly #pieces: Buffer[] = []
  #next = 0
  #end = 0

  get size(): number {
    return this.#starts.length
  }

  add(text: string): number {
    const most = headOctets + text.length * 3
    if (this.#next + most > this.#end) this.#grow(most)
    const start = this.#next
    const piece = this.#pieces[start >>> pieceBits]!
    const from = (start & (octetsAPiece - 1)) + headOctets
    const to = write(text, piece, from)
    const isAscii = to - from === text.length
    piece.writeUInt32LE(((to - from) << 1) | Number(isAscii), from - headOctets)
    this.#next = piece.length > octetsAPiece ? this.#end : start + (to - from) + headOctets
    this.#starts.push(start)
    return this.#starts.length - 1
  }

  at(index: number): string {
    const start = this.#starts.at(index) >>> 0
    const piece = this.#pieces[start >>> pieceBits]!
    const from = (start & (octetsAPiece - 1)) + headOctets
    const head = piece.readUInt32LE(from - headOctets)
    const to = from + (head >>> 1)
    return head & 1 ? piece.toString('latin1', from, to) : read(piece, from, to)
  }

  /** Whether the text at `index` has these octets. */
  equals(index: number, octets: Uint8Array, length: number): boolean {
    const start = this.#starts.at(index) >>> 0
    const piece = this.#pieces[start >>> pieceBits]!
    const from = (start & (octetsAPiece - 1)) + headOctets
    if (piece.readUInt32LE(from - headOctets) >>> 1 !== length) return false
    for (let i = 0; i < length; i++) if (piece[from + i] !== octets[i]) return false
    return true
  }

  hashAt(index: number): number {
    const start = this.#starts.at(index) >>> 0
    const piece = this.#pieces[start >>> pieceBits]!
    const from = (start & (octetsAPiece - 1)) + headOctets
    return hash(piece, from, from + (piece.readUInt32LE(from - headOctets) >>> 1))
  }

  #grow(octets: number): void {
    const count = Math.ceil(octets / octetsAPiece)
    const piece = Buffer.allocUnsafeSlow(count * octetsAPiece)
    this.#next = this.#pieces.length * octetsAPiece
    for (let i = 0; i < count; i++) this.#pieces.push(piece)
    this.#end = this.#pieces.length * octetsAPiece
  }
}

const headOctets = 4

/** Returns where the text ends. */
function write(text: string, into: Uint8Array, from: number): number {
  let at = from
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) into[at++] = unit
    else {
      into[at++] = 0x80 | (unit >>> 12)
      into[at++] = 0x80 | ((unit >>> 6) & 0x3f)
      into[at++] = 0x80 | (unit & 0x3f)
    }
  }
  return at
}

function read(octets: Uint8Array, from: number, to: number): string {
  let text = ''
  for (let at = from; at < to; at++) {
    const octet = octets[at]!
    if (octet < 0x80) text += String.fromCharCode(octet)
    else {
      text += String.fromCharCode(((octet & 0xf) << 12) | ((octets[at + 1]! & 0x3f) << 6) | (octets[at + 2]! & 0x3f))
      at += 2
    }
  }
  return text
}

function hash(octets: Uint8Array, from: number, to: number): number {
  let hashed = 0x811c9dc5
  for (let at = from; at < to; at++) hashed = Math.imul(hashed ^ octets[at]!, 0x01000193)
  hashed ^= hashed >>> 15
  hashed = Math.imul(hashed, 0x2c1b3c6d)
  return (hashed ^ (hashed >>> 12)) >>> 0
}

const slotsAtFirst = 64
let scratch = new Uint8Array(3 * 1024)

/** Different texts, each with its number: the first has 0. */
export class Ids {
  readonly #texts = new Texts()
  /** Number + 1; 0 where there is none. Always at least a third of it is empty. */
  #slots = new Int32Array(slotsAtFirst)

  get size(): number {
    return this.#texts.size
  }

  at(number: number): string {
    return this.#texts.at(number)
  }

  /** −1 if it is not there. */
  find(text: string): number {
    return this.#slots[this.#slotOf(text)]! - 1
  }

  has(text: string): boolean {
    return this.find(text) >= 0
  }

  /** The number that it has, or the next one. */
  add(text: string): number {
    const slot = this.#slotOf(text)
    const known = this.#slots[slot]! - 1
    if (known >= 0) return known
    const number = this.#texts.add(text)
    this.#slots[slot] = number + 1
    if (this.size * 3 > this.#slots.length * 2) this.#grow()
    return number
  }

  /** The slot that the text has, or the empty one where it belongs. */
  #slotOf(text: string): number {
    if (text.length * 3 > scratch.length) scratch = new Uint8Array(text.length * 3)
    const length = write(text, scratch, 0)
    const mask = this.#slots.length - 1
    let slot = hash(scratch, 0, length) & mask
    for (;;) {
      const number = this.#slots[slot]! - 1
      if (number < 0 || this.#texts.equals(number, scratch, length)) return slot
      slot = (slot + 1) & mask
    }
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 2)
    const mask = slots.length - 1
    for (let number = 0; number < this.size; number++) {
      let slot = this.#texts.hashAt(number) & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = number + 1
    }
    this.#slots = slots
  }
}

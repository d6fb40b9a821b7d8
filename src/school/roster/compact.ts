/**
 * Lists for a million rows. Objects and strings of that number would take most of a gigabyte; these keep bytes in
 * large pieces outside the heap, which the garbage collector need not scan.
 */

const numberPieceBits = 14
const numbersAPiece = 1 << numberPieceBits

/** A growing list of 32-bit integers. In pieces, because a list that moves as it grows leaves holes in memory. */
export class Numbers {
  length = 0
  readonly #pieces: Int32Array[] = []

  at(index: number): number {
    return this.#pieces[index >>> numberPieceBits]![index & (numbersAPiece - 1)]!
  }

  /** Fills up with zeros if the list is shorter. */
  set(index: number, value: number): void {
    while (index >= this.#pieces.length * numbersAPiece) this.#pieces.push(new Int32Array(numbersAPiece))
    this.#pieces[index >>> numberPieceBits]![index & (numbersAPiece - 1)] = value
    if (index >= this.length) this.length = index + 1
  }

  push(value: number): void {
    this.set(this.length, value)
  }
}

const pieceBits = 16
const octetsAPiece = 1 << pieceBits
const headOctets = 4

/**
 * A growing list of texts: one octet for each character or, if some are not of Latin-1, two. A header holds the length
 * and the encoding.
 */
export class Texts {
  readonly #starts = new Numbers()
  /** A text longer than a piece gets its own piece, which is listed once for each piece length it covers. */
  readonly #pieces: Buffer[] = []
  #next = 0
  #end = 0

  get size(): number {
    return this.#starts.length
  }

  add(text: string): number {
    const most = headOctets + text.length * 2
    if (this.#next + most > this.#end) this.#grow(most)
    const start = this.#next
    const piece = this.#pieces[start >>> pieceBits]!
    const at = start & (octetsAPiece - 1)
    const octets = write(text, piece, at)
    this.#next = piece.length > octetsAPiece ? this.#end : start + octets
    this.#starts.push(start)
    return this.#starts.length - 1
  }

  at(index: number): string {
    const start = this.#starts.at(index) >>> 0
    const piece = this.#pieces[start >>> pieceBits]!
    const at = start & (octetsAPiece - 1)
    const from = at + headOctets
    return piece.toString(piece[at] === latin1 ? 'latin1' : 'utf16le', from, from + lengthAt(piece, at))
  }

  /** Quicker than comparing with `at`. */
  isAt(index: number, text: string): boolean {
    const start = this.#starts.at(index) >>> 0
    const piece = this.#pieces[start >>> pieceBits]!
    const at = start & (octetsAPiece - 1)
    if (piece[at] !== latin1) return this.at(index) === text
    if (lengthAt(piece, at) !== text.length) return false
    const from = at + headOctets
    for (let i = 0; i < text.length; i++) if (piece[from + i] !== text.charCodeAt(i)) return false
    return true
  }

  /** Whether the text at `index` is written like this one. */
  equals(index: number, written: Uint8Array): boolean {
    const start = this.#starts.at(index) >>> 0
    const piece = this.#pieces[start >>> pieceBits]!
    const at = start & (octetsAPiece - 1)
    const octets = headOctets + lengthAt(written, 0)
    for (let i = 0; i < octets; i++) if (piece[at + i] !== written[i]) return false
    return true
  }

  hashAt(index: number): number {
    const start = this.#starts.at(index) >>> 0
    return hash(this.#pieces[start >>> pieceBits]!, start & (octetsAPiece - 1))
  }

  #grow(octets: number): void {
    const count = Math.ceil(octets / octetsAPiece)
    const piece = Buffer.allocUnsafeSlow(count * octetsAPiece)
    this.#next = this.#pieces.length * octetsAPiece
    for (let i = 0; i < count; i++) this.#pieces.push(piece)
    this.#end = this.#pieces.length * octetsAPiece
  }
}

const latin1 = 1
const utf16 = 2

/** Writes head and text. Returns how many octets these are. */
function write(text: string, into: Uint8Array, at: number): number {
  const { length } = text
  const from = at + headOctets
  let isLatin1 = true
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    into[from + i] = unit
    if (unit > 0xff) {
      isLatin1 = false
      break
    }
  }
  if (!isLatin1)
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      into[from + 2 * i] = unit
      into[from + 2 * i + 1] = unit >>> 8
    }
  const octets = isLatin1 ? length : 2 * length
  into[at] = isLatin1 ? latin1 : utf16
  into[at + 1] = octets
  into[at + 2] = octets >>> 8
  into[at + 3] = octets >>> 16
  return headOctets + octets
}

/** Of a text, by its head. */
function lengthAt(octets: Uint8Array, at: number): number {
  return octets[at + 1]! | (octets[at + 2]! << 8) | (octets[at + 3]! << 16)
}

/** Secret, so that nobody can write a file whose ids all have the same hash. */
const [seed = 0] = crypto.getRandomValues(new Uint32Array(1))

function hash(octets: Uint8Array, at: number): number {
  const end = at + headOctets + lengthAt(octets, at)
  let hashed = seed
  for (let i = at; i < end; i++) hashed = Math.imul(hashed ^ octets[i]!, 0x01000193)
  hashed ^= hashed >>> 15
  hashed = Math.imul(hashed, 0x2c1b3c6d)
  return (hashed ^ (hashed >>> 12)) >>> 0
}

const slotsAtFirst = 64
const numberBits = 26
const numberMask = 2 ** numberBits - 1
let scratch = new Uint8Array(2048)

/** Different texts, each with its number: the first has 0. */
export class Ids {
  readonly #texts = new Texts()
  /**
   * Number + 1, with six bits of the hash above it, so that other texts are rarely compared; 0 if empty. At least a
   * third of them are empty.
   */
  #slots = new Uint32Array(slotsAtFirst)

  get size(): number {
    return this.#texts.size
  }

  at(number: number): string {
    return this.#texts.at(number)
  }

  isAt(number: number, text: string): boolean {
    return this.#texts.isAt(number, text)
  }

  /** −1 if it is not there. */
  find(text: string): number {
    return (this.#slots[this.#slotOf(text)]! & numberMask) - 1
  }

  has(text: string): boolean {
    return this.find(text) >= 0
  }

  /** The number that it has, or the next one. */
  add(text: string): number {
    const slot = this.#slotOf(text)
    const known = (this.#slots[slot]! & numberMask) - 1
    if (known >= 0) return known
    const number = this.#texts.add(text)
    if (number >= numberMask) throw new RangeError('too many texts')
    this.#slots[slot] = (hash(scratch, 0) & ~numberMask) | (number + 1)
    if (this.size * 3 > this.#slots.length * 2) this.#grow()
    return number
  }

  /** The slot that the text has, or the empty one where it belongs. */
  #slotOf(text: string): number {
    if (headOctets + text.length * 2 > scratch.length) scratch = new Uint8Array(headOctets + text.length * 2)
    write(text, scratch, 0)
    const hashed = hash(scratch, 0)
    const mask = this.#slots.length - 1
    for (let slot = hashed & mask; ; slot = (slot + 1) & mask) {
      const found = this.#slots[slot]!
      if (found === 0) return slot
      if ((found ^ hashed) >>> numberBits === 0 && this.#texts.equals((found & numberMask) - 1, scratch))
        return slot
    }
  }

  #grow(): void {
    const slots = new Uint32Array(this.#slots.length * 2)
    const mask = slots.length - 1
    for (let number = 0; number < this.size; number++) {
      const hashed = this.#texts.hashAt(number)
      let slot = hashed & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = (hashed & ~numberMask) | (number + 1)
    }
    this.#slots = slots
  }
}

/** How much of everything. */
export interface Plan {
  readonly rounds: number
  /** Veterinarians in the small store and in the large one. */
  readonly accounts: readonly [number, number]
  readonly students: number
  /** Sessions of each role. */
  readonly tokens: number
  readonly peer: { readonly users: number; readonly tokens: number }
  /** Students of the two schools that are imported. */
  readonly schools: readonly [number, number]
  readonly requestsForMemory: number
  readonly memorySeconds: number
  /** Only these cases, and nothing else. */
  readonly cases?: readonly string[]
}

export const whole: Plan = {
  rounds: 5,
  accounts: [1_000, 1_000_000],
  students: 10_000,
  tokens: 10_000,
  peer: { users: 100_000, tokens: 10_000 },
  schools: [1_000, 5_000],
  requestsForMemory: 1_000_000,
  memorySeconds: 20,
}

export const quick: Plan = {
  ...whole,
  accounts: [1_000, 10_000],
  students: 1_000,
  cases: ['me', 'sign-in'],
}

/** Addresses and networks that no other test uses, so that tests can share a service. */
let count = 0

export function freshAddress(name = 'vet'): string {
  count++
  return `${name}.${process.pid}.${count}@clinic.example`
}

export type Network = { readonly 'x-forwarded-for': string }

/** Puts a request into a network of its own. */
export function freshNetwork(): Network {
  count++
  return { 'x-forwarded-for': `100.${(count >> 16) & 255}.${(count >> 8) & 255}.${count & 255}` }
}

/** Runs `work` for 0 to times − 1, at most `atOnce` at a time. Results are in order. */
export async function repeat<T>(times: number, work: (i: number) => Promise<T>, atOnce = 25): Promise<T[]> {
  const results: T[] = new Array(times)
  let next = 0
  const runner = async () => {
    while (next < times) {
      const i = next++
      results[i] = await work(i)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, times) }, runner))
  return results
}

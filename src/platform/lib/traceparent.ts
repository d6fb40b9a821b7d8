/** The `traceparent` header of W3C Trace Context. */

export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

// §3.2: version ff and all-zero ids are invalid; versions after 00 may add fields.
const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

export function traceParentOf(header: string | string[] | undefined): TraceParent | undefined {
  if (typeof header !== 'string') return undefined
  const [, traceId, spanId, flags, more] = form.exec(header) ?? []
  if (!traceId || !spanId || (more !== undefined && header.startsWith('00'))) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags!, 16) & 1) === 1 }
}

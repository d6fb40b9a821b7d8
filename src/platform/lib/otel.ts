/** Reads the OpenTelemetry settings for traces, named as in the specification. Null if no endpoint is configured. */

export interface TraceSettings {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly attributes: Readonly<Record<string, string>>
  /** How many of the traces that begin here are sent, from 0 to 1. */
  readonly share: number
  /** Whether a caller's decision is followed. */
  readonly followsCaller: boolean
  /** Whether the settings ask for `http/protobuf`, the default elsewhere. JSON is sent all the same. */
  readonly wantsProtobuf: boolean
}

type Env = Readonly<Record<string, string | undefined>>

const samplers = ['always_on', 'always_off', 'traceidratio']

/** Returns an error as text. */
export function traceSettings(env: Env): TraceSettings | null | string {
  const get = (name: string) => env[name]?.trim() || undefined
  const exporter = get('OTEL_TRACES_EXPORTER')
  const base = get('OTEL_EXPORTER_OTLP_ENDPOINT')
  const endpoint = get('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  if (get('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none') return null
  if (exporter === undefined && base === undefined && endpoint === undefined) return null
  if (exporter !== undefined && exporter !== 'otlp')
    return `OTEL_TRACES_EXPORTER must be otlp or none, not ${JSON.stringify(exporter)}`
  const protocol = get('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? get('OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol !== undefined && protocol !== 'http/json' && protocol !== 'http/protobuf')
    return `OTEL_EXPORTER_OTLP_PROTOCOL must be http/json, not ${JSON.stringify(protocol)}`
  const url = URL.parse(endpoint ?? `${(base ?? 'http://localhost:4318').replace(/\/+$/, '')}/v1/traces`)
  if (!url || !/^https?:$/.test(url.protocol))
    return `${endpoint ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT'} must be an http or https address`
  const sampler = get('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
  const plain = sampler.replace(/^parentbased_/, '')
  if (!samplers.includes(plain))
    return `OTEL_TRACES_SAMPLER must be one of ${samplers.map((one) => `${one}, parentbased_${one}`).join(', ')}`
  const ratio = Number(get('OTEL_TRACES_SAMPLER_ARG') ?? 1)
  if (!(ratio >= 0 && ratio <= 1)) return 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1'
  return {
    url: url.href,
    headers: pairs(get('OTEL_EXPORTER_OTLP_TRACES_HEADERS') ?? get('OTEL_EXPORTER_OTLP_HEADERS')),
    attributes: {
      ...pairs(get('OTEL_RESOURCE_ATTRIBUTES')),
      'service.name':
        get('OTEL_SERVICE_NAME') ?? pairs(get('OTEL_RESOURCE_ATTRIBUTES'))['service.name'] ?? 'chiron',
    },
    share: { always_on: 1, always_off: 0, traceidratio: ratio }[plain]!,
    followsCaller: sampler !== plain,
    wantsProtobuf: protocol === 'http/protobuf',
  }
}

/** `a=1,b=2`, percent-encoded. */
function pairs(text = ''): Record<string, string> {
  const decode = (part: string) => {
    try {
      return decodeURIComponent(part.trim())
    } catch {
      return part.trim()
    }
  }
  const parts = text.split(',').filter((part) => part.includes('='))
  return Object.fromEntries(
    parts.map((part) => [
      decode(part.slice(0, part.indexOf('='))),
      decode(part.slice(part.indexOf('=') + 1)),
    ]),
  )
}

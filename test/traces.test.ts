/** Traces, received by an OTLP receiver on a socket. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { SpanExport } from '../src/operate/traces/export.ts'
import { type TraceSettings, traceSettings } from '../src/platform/lib/otel.ts'
import { atLength } from './support/engines.ts'
import { startService } from './support/service.ts'
import { eventually } from './support/wait.ts'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: { key: string; value: { stringValue?: string; intValue?: string } }[]
  readonly status: { code: number }
}

/** Keeps what it is sent; answers with `status` once that is set. */
async function startCollector() {
  const bodies: { text: string; path: string; headers: Record<string, unknown> }[] = []
  const answer = { status: 200 }
  const server = createServer(async (request, reply) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (answer.status === 200) bodies.push({ text, path: request.url!, headers: request.headers })
    reply.writeHead(answer.status, { 'Content-Type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const spans = (): Span[] =>
    bodies.flatMap(({ text }) =>
      JSON.parse(text).resourceSpans.flatMap((one: { scopeSpans: { spans: Span[] }[] }) =>
        one.scopeSpans.flatMap((scope) => scope.spans),
      ),
    )
  return {
    url: `http://127.0.0.1:${port}`,
    answer,
    bodies,
    spans,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  }
}

const attribute = (span: Span, name: string) => {
  const value = span.attributes.find(({ key }) => key === name)?.value
  return value?.stringValue ?? value?.intValue
}

test('A request, its store calls and its mail are spans, and nothing personal is in them', async (t) => {
  const collector = await startCollector()
  t.after(() => collector.close())
  const service = await startService('sqlite', {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=abc%20def',
      OTEL_SERVICE_NAME: 'vets',
    },
  })
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const { access } = await service.signIn('ada@traces.example')
  const profile = await service.request('/veterinarian/me?x=secret', {
    token: access,
    headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
  })
  await service.post(
    '/veterinarian/send-otp',
    { email: 'ada@traces.example' },
    { traceparent: `00-${'a'.repeat(32)}-00f067aa0ba902b7-01` },
  )
  await service.request('/nowhere')
  await service.stop()

  const spans = collector.spans()
  const request = spans.find((span) => span.traceId === traceId && span.kind === 2)!
  assert.equal(request.name, 'GET /veterinarian/me')
  assert.equal(request.parentSpanId, '00f067aa0ba902b7')
  assert.equal(attribute(request, 'http.response.status_code'), '200')
  assert.equal(attribute(request, 'chiron.request_id'), profile.headers.get('request-id'))
  assert.ok(BigInt(request.endTimeUnixNano) > BigInt(request.startTimeUnixNano))
  const read = spans.find((span) => span.traceId === traceId && span.name === 'store read')!
  assert.equal(read.parentSpanId, request.spanId)
  // Also where a body had to arrive first.
  const sent = spans.find((span) => span.traceId === 'a'.repeat(32) && span.kind === 2)!
  const write = spans.find((span) => span.parentSpanId === sent.spanId && span.name === 'store write')
  assert.ok(write)
  assert.ok(spans.some(({ name, status }) => name === 'mail hand-over' && status.code === 0))
  assert.ok(
    spans.some((span) => span.name === 'GET' && attribute(span, 'http.response.status_code') === '404'),
  )
  assert.equal(collector.bodies[0]!.path, '/v1/traces')
  assert.equal(collector.bodies[0]!.headers['x-key'], 'abc def')
  const all = collector.bodies.map(({ text }) => text).join()
  assert.match(all, /"service\.name","value":\{"stringValue":"vets"\}/)
  assert.doesNotMatch(all, /traces\.example|nowhere|secret|eyJ|127\.0\.0\.1/)
})

test('A caller who does not want a trace gets none', async (t) => {
  const collector = await startCollector()
  t.after(() => collector.close())
  const service = await startService('sqlite', { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  await service.request('/health/live', {
    headers: { traceparent: `00-${'b'.repeat(32)}-00f067aa0ba902b7-00` },
  })
  await service.request('/health/live')
  await service.stop()
  assert.deepEqual(
    collector.spans().map(({ traceId, name }) => [traceId === 'b'.repeat(32), name]),
    [[false, 'GET /health/live']],
  )
})

test('What a collector could not take is sent again, and what it refuses is not', async (t) => {
  const collector = await startCollector()
  t.after(() => collector.close())
  const lines: string[] = []
  const log = { info: () => {}, warn: (_: object, line: string) => void lines.push(line) }
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }
  const settings = traceSettings(env) as TraceSettings
  const names = () => collector.spans().map(({ name }) => name)
  const span = { traceId: 'a', spanId: 'b', kind: 1, startTimeUnixNano: '0', endTimeUnixNano: '1' }
  const sending = new SpanExport(settings, '0', log)
  const sendOne = async (name: string, status: number) => {
    collector.answer.status = status
    sending.add({ ...span, name, attributes: [], status: { code: 0 } })
    await sending.close()
  }
  await sendOne('refused', 400)
  await sendOne('first', 503)
  assert.deepEqual(names(), [])
  await sendOne('second', 200)
  assert.deepEqual(names(), ['first', 'second'])
  assert.match(lines[0]!, /asks for http\/protobuf, but traces are sent as http\/json/)
})

test('A failing collector is logged once and affects nobody', atLength, async (t) => {
  const collector = await startCollector()
  t.after(() => collector.close())
  collector.answer.status = 503
  const service = await startService('sqlite', { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  const messages = (text: string) => service.log.filter((line) => line.includes(text)).length
  const failures = () => messages('sending traces is failing')
  await service.request('/health/live')
  await eventually('a failure', () => failures() === 1)
  // More than the queue holds; what does not fit is dropped.
  for (let i = 0; i < 600; i++) assert.equal((await service.request('/health/live')).status, 200)
  collector.answer.status = 200
  await service.request('/health/live')
  await eventually('a recovery', () => messages('sending traces works again') === 1)
  assert.equal(failures(), 1)
  await service.stop()
})

test('OTEL settings are read as their specification says, and wrong ones are named', () => {
  assert.equal(traceSettings({}), null)
  assert.equal(traceSettings({ OTEL_SERVICE_NAME: 'x' }), null)
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318/' }
  assert.equal(traceSettings({ ...endpoint, OTEL_SDK_DISABLED: 'true' }), null)
  assert.equal(traceSettings({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }), null)
  const of = (env: Record<string, string>) => {
    const settings = traceSettings({ ...endpoint, ...env })
    assert.ok(settings && typeof settings === 'object')
    return settings
  }
  assert.equal(of({}).url, 'http://otel:4318/v1/traces')
  assert.equal(of({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://o/x' }).url, 'http://o/x')
  assert.deepEqual(of({ OTEL_RESOURCE_ATTRIBUTES: 'a=1,service.name=b' }).attributes, {
    a: '1',
    'service.name': 'b',
  })
  const sampled = of({ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' })
  assert.deepEqual([sampled.share, sampled.followsCaller], [0.25, true])
  assert.deepEqual([of({ OTEL_TRACES_SAMPLER: 'always_off' }).share], [0])
  for (const [name, value] of [
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'otel:4318'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
  ] as const) {
    const complaint = traceSettings({ ...endpoint, [name]: value })
    assert.ok(typeof complaint === 'string' && complaint.startsWith(name), name)
  }
})

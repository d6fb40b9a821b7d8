/** A strict iCalendar reader (RFC 5545). */
import assert from 'node:assert/strict'

export interface Property {
  readonly name: string
  readonly params: Readonly<Record<string, string>>
  readonly value: string
}

export interface Component {
  readonly name: string
  readonly properties: Property[]
  readonly components: Component[]
}

/** Splits into lines. Each must be valid UTF-8, at most 75 octets, and end in CRLF. */
function wireLines(bytes: Uint8Array): string[] {
  const octets = Buffer.from(bytes).toString('latin1')
  assert.ok(octets.endsWith('\r\n'), 'the last line ends in CRLF')
  return octets
    .slice(0, -2)
    .split('\r\n')
    .map((line) => {
      assert.ok(line.length <= 75, `${line.length} octets: ${line}`)
      assert.ok(line.trim() !== '', 'an empty line')
      const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      const text = utf8.decode(Buffer.from(line, 'latin1'))
      assert.doesNotMatch(text, /(?!\t)\p{Cc}/u, 'a control character')
      return text
    })
}

function unfold(lines: readonly string[]): string[] {
  const whole: string[] = []
  for (const line of lines) {
    if (!/^[ \t]/.test(line)) whole.push(line)
    else {
      assert.ok(whole.length > 0, 'the first line is folded')
      whole.push(whole.pop()! + line.slice(1))
    }
  }
  return whole
}

function property(line: string): Property {
  const match = /^([A-Z0-9-]+)((?:;[A-Z0-9-]+=[^\p{Cc}";:,]*)*):(.*)$/su.exec(line)
  assert.ok(match, `not a content line: ${line}`)
  const params = match[2]!
    .split(';')
    .slice(1)
    .map((param) => param.split('=') as [string, string])
  return { name: match[1]!, params: Object.fromEntries(params), value: match[3]! }
}

/** Checks a TEXT value: only the four escapes are allowed, and commas and semicolons must be escaped. */
export function unescapeText(value: string): string {
  assert.match(value, /^(?:[^\\;,]|\\[\\;,nN])*$/su, `not a text: ${value}`)
  return value.replace(/\\(.)/gsu, (_, one: string) => (/n/i.test(one) ? '\n' : one))
}

const once: Record<string, string[]> = {
  VCALENDAR: ['PRODID', 'VERSION', 'METHOD', 'CALSCALE', 'X-WR-CALNAME', 'REFRESH-INTERVAL'],
  VEVENT: ['UID', 'DTSTAMP', 'DTSTART', 'DTEND', 'SUMMARY'],
  VTIMEZONE: ['TZID'],
  STANDARD: ['DTSTART', 'TZOFFSETFROM', 'TZOFFSETTO'],
  DAYLIGHT: ['DTSTART', 'TZOFFSETFROM', 'TZOFFSETTO'],
}
const atMostOnce = ['RRULE', 'LOCATION', 'DESCRIPTION', 'LAST-MODIFIED', 'TRANSP', 'X-PUBLISHED-TTL']

function check({ name, properties, components }: Component): void {
  const counts = new Map<string, number>()
  for (const one of properties) counts.set(one.name, (counts.get(one.name) ?? 0) + 1)
  assert.ok(once[name], `an unexpected ${name}`)
  for (const needed of once[name]!) assert.equal(counts.get(needed), 1, `${needed} in ${name}`)
  for (const [other, count] of counts) {
    assert.ok(once[name]!.includes(other) || atMostOnce.includes(other), `an unexpected ${other}`)
    assert.equal(count, 1, other)
  }
  for (const one of components) check(one)
}

export function parseCalendar(bytes: Uint8Array): Component {
  const root: Component = { name: '', properties: [], components: [] }
  const open = [root]
  for (const line of unfold(wireLines(bytes))) {
    const { name, params, value } = property(line)
    const current = open.at(-1)!
    if (name === 'BEGIN') {
      const component: Component = { name: value, properties: [], components: [] }
      current.components.push(component)
      open.push(component)
    } else if (name === 'END') {
      assert.equal(value, current.name)
      open.pop()
    } else {
      assert.notEqual(current, root, 'a property outside')
      current.properties.push({ name, params, value })
    }
  }
  assert.equal(open.length, 1, 'something is not ended')
  assert.deepEqual([root.components.length, root.components[0]?.name], [1, 'VCALENDAR'])
  const [calendar] = root.components
  check(calendar!)
  assert.ok(calendar!.components.length > 0, 'a calendar has at least one component')
  const uids = eventsIn(calendar!).map((event) => event.uid)
  assert.equal(new Set(uids).size, uids.length, 'UIDs are unique')
  return calendar!
}

export function valueIn(component: Component, name: string): string | undefined {
  return component.properties.find((one) => one.name === name)?.value
}

export interface CalendarEvent {
  readonly uid: string
  readonly summary: string
  readonly location: string | null
  readonly description: string | null
  /** For an all-day event, the first day and the day after the last. */
  readonly days: readonly [from: string, to: string] | null
  /** For a weekly event, when it is on, in UTC. */
  readonly times: readonly (readonly [from: string, to: string])[]
}

export function eventsIn(calendar: Component): CalendarEvent[] {
  return calendar.components
    .filter(({ name }) => name === 'VEVENT')
    .map((event) => {
      const textOf = (name: string) => {
        const value = valueIn(event, name)
        return value === undefined ? null : unescapeText(value)
      }
      assert.match(valueIn(event, 'DTSTAMP')!, /^\d{8}T\d{6}Z$/)
      const isWeekly = valueIn(event, 'RRULE') !== undefined
      assert.equal(valueIn(event, 'TRANSP'), isWeekly ? undefined : 'TRANSPARENT')
      return {
        uid: valueIn(event, 'UID')!,
        summary: textOf('SUMMARY')!,
        location: textOf('LOCATION'),
        description: textOf('DESCRIPTION'),
        days: isWeekly ? null : daysOf(event),
        times: isWeekly ? timesOf(calendar, event) : [],
      }
    })
}

const propertyOf = (event: Component, name: string) => event.properties.find((one) => one.name === name)!

function daysOf(event: Component): [string, string] {
  const date = (name: string) => {
    const { params, value } = propertyOf(event, name)
    assert.deepEqual(params, { VALUE: 'DATE' })
    assert.match(value, /^\d{8}$/)
    return value
  }
  const days: [string, string] = [date('DTSTART'), date('DTEND')]
  assert.ok(days[0] < days[1], `${days} ends before it begins`)
  return days
}

const weekMs = 7 * 86_400_000
/** A local time as if it were UTC, to reckon with. */
const asUtc = (local: string) =>
  Date.parse(local.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)$/, '$1-$2-$3T$4:$5:$6Z'))

/** Expands the rule, by what the calendar itself says about its time zone. */
function timesOf(calendar: Component, event: Component): [string, string][] {
  const [start, end] = ['DTSTART', 'DTEND'].map((name) => {
    const { params, value } = propertyOf(event, name)
    assert.deepEqual(Object.keys(params), ['TZID'])
    assert.match(value, /^\d{8}T\d{6}$/)
    return { tzid: params.TZID!, local: asUtc(value) }
  })
  assert.ok(start!.local < end!.local && start!.tzid === end!.tzid)
  const zone = calendar.components.find(
    (one) => one.name === 'VTIMEZONE' && valueIn(one, 'TZID') === start!.tzid,
  )
  assert.ok(zone, `no VTIMEZONE ${start!.tzid}`)
  const [, until] = /^FREQ=WEEKLY;UNTIL=(\d{8}T\d{6})Z$/.exec(valueIn(event, 'RRULE')!)!
  const times: [string, string][] = []
  for (let week = 0; ; week++) {
    const [from, to] = [start!, end!].map(({ local }) => {
      const at = local + week * weekMs
      return at - offsetAt(zone, at)
    })
    if (from! > asUtc(until!)) {
      assert.equal(times.at(-1)![0], new Date(asUtc(until!)).toISOString(), 'UNTIL is the last one')
      return times
    }
    times.push([new Date(from!).toISOString(), new Date(to!).toISOString()])
  }
}

/** The offset of the last change before this local time. */
function offsetAt(zone: Component, local: number): number {
  const changes = zone.components
    .map((one) => ({ at: asUtc(valueIn(one, 'DTSTART')!), to: valueIn(one, 'TZOFFSETTO')! }))
    .filter(({ at }) => at <= local)
    .sort((a, b) => a.at - b.at)
  const [, sign, hours, minutes] = /^([+-])(\d\d)(\d\d)(?:\d\d)?$/.exec(changes.at(-1)?.to ?? '')!
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

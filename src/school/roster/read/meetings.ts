/** Reads when a class meets, such as `Mon 09:00-10:30; Wed 14:00-15:00`. Pure. */
import { type Meeting, weekdays } from '../../student/classes.ts'

const meetingsMax = 50
const names = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
const form = /^([a-z]{3,9})\.?\s+(\d{1,2}:\d{2})\s*[-\u2013]\s*(\d{1,2}:\d{2})$/i
const timeForm = /^([01]\d|2[0-3]):[0-5]\d$/

export const meetingsForm = 'Expected a day and times such as Mon 09:00-10:30; Wed 14:00-15:00.'

/** Sorted by day and start, each once; null if any part is wrong, because half a timetable misleads. */
export function parseMeetings(text: string): readonly Meeting[] | null {
  const parts = text.split(';').map((part) => part.trim())
  const meetings = parts.filter((part) => part !== '').map(parseMeeting)
  if (meetings.length > meetingsMax || !meetings.every((meeting) => meeting !== null)) return null
  const sorted = meetings.sort(byTime)
  return sorted.filter((meeting, i) => i === 0 || byTime(meeting, sorted[i - 1]!) !== 0)
}

/** As people write them, and as `parseMeetings` reads them. */
export function meetingsText(meetings: readonly Meeting[]): string {
  const day = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
  return meetings.map((one) => `${day(one.day)} ${one.start}-${one.end}`).join('; ')
}

function parseMeeting(text: string): Meeting | null {
  const [, word, from, to] = form.exec(text) ?? []
  if (!word || !from || !to) return null
  const day = weekdays[names.findIndex((name) => name.startsWith(word.toLowerCase()))]
  const [start, end] = [from.padStart(5, '0'), to.padStart(5, '0')]
  if (!day || !timeForm.test(start) || !timeForm.test(end) || start >= end) return null
  return { day, start, end }
}

function byTime(a: Meeting, b: Meeting): number {
  return (
    weekdays.indexOf(a.day) - weekdays.indexOf(b.day) ||
    a.start.localeCompare(b.start) ||
    a.end.localeCompare(b.end)
  )
}

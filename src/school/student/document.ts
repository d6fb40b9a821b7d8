/** A class as the import wrote it (roster/documents.ts), and as readers get it. Pure. */
import { timestamp } from '../../platform/lib/clock.ts'
import type { Meeting } from './classes.ts'

export interface ClassDocument {
  readonly classId: string
  readonly code: string | null
  readonly title: string
  readonly kind: 'course' | 'homeroom' | 'rotation' | 'practical' | 'tutorial'
  readonly course: { courseId: string; code: string | null; title: string }
  readonly school: { schoolId: string; name: string }
  readonly terms: { termId: string; title: string; startDate: string; endDate: string }[]
  readonly teachers: { firstname: string; lastname: string; email: string | null; primary: boolean }[]
  readonly location: string | null
  readonly periods: string[]
  readonly meetings: Meeting[]
  readonly subjects: string[]
  readonly updatedAt: string
}

export function readDocument(text: string, updatedAt: number): ClassDocument {
  const document = JSON.parse(text)
  // The import leaves out an empty list of meetings.
  return { ...document, meetings: document.meetings ?? [], updatedAt: timestamp(updatedAt) }
}

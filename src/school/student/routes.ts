import { operation } from '../../identity/session/operation.ts'
import { ClassList, StudentExport, StudentProfile, WhenQuery } from './schemas.ts'
import type { Students } from './student.ts'

export const studentRoutes = (students: Students) => [
  operation('GET /student/me', {
    access: 'student',
    tag: 'student',
    id: 'getOwnStudent',
    summary: 'My profile',
    reply: StudentProfile,
    answer: ({ caller }) => students.profileOf(caller),
  }),

  operation('GET /student/me/classes', {
    access: 'student',
    scope: 'classes',
    tag: 'student',
    id: 'listOwnClasses',
    summary: 'My classes',
    description:
      'Current classes by default. Dates are whole days in the school’s time zone, first and last included. Sorted by start date, then title.',
    query: WhenQuery,
    reply: ClassList,
    orEmpty: 204,
    async answer({ reply, caller, query }) {
      const classes = await students.classes(caller, query.when ?? 'current')
      if (classes.length === 0) return reply.code(204).send()
      // The schema's serialiser costs a third of this endpoint. The import alone decides what a class holds.
      return reply.type('application/json; charset=utf-8').serializer(JSON.stringify).send({ classes })
    },
  }),

  operation('GET /student/me/export', {
    access: 'student',
    tag: 'student',
    id: 'exportOwnStudent',
    summary: 'Everything held about me',
    reply: StudentExport,
    answer({ reply, caller }) {
      reply.header('Content-Disposition', 'attachment; filename="chiron-export.json"')
      return students.export(caller)
    },
  }),
]

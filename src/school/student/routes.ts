import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { statuses } from '../../identity/people/people.ts'
import type { LiveSession } from '../../identity/session/session.ts'
import { type CallerOf, routeConfig } from '../../platform/http/access.ts'
import {
  Empty,
  HistoryFields,
  Id,
  Nullable,
  problems,
  Ref,
  Timestamp,
  tokenProblems,
  WhenQuery,
} from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Feed } from './calendar-routes.ts'
import { weekdays } from './classes.ts'
import type { Students } from './student.ts'

const School = Type.Object({ schoolId: Type.String(), name: Type.String() })
const CalendarDate = Type.String({ format: 'date', examples: ['2026-09-01'] })
const Kind = Type.Enum(['course', 'homeroom', 'rotation', 'practical', 'tutorial'])

const TimeOfDay = Type.String({
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  description: 'In the school’s time zone.',
  examples: ['09:00'],
})
const Meeting = Type.Object({ day: Type.Enum([...weekdays]), start: TimeOfDay, end: TimeOfDay })

export const StudentProfile = Type.Object(
  {
    userId: Id('The student’s id.'),
    studentNumber: Nullable(Type.String()),
    firstname: Type.String(),
    lastname: Type.String(),
    preferredName: Nullable(Type.String()),
    pronouns: Nullable(Type.String()),
    email: Type.String(),
    status: Type.Enum(statuses.student),
    year: Nullable(Type.Integer()),
    school: Nullable(School),
    groups: Type.Array(Type.Object({ classId: Type.String(), title: Type.String(), kind: Kind })),
    updatedAt: Timestamp(),
  },
  { $id: 'StudentProfile' },
)

export const ClassEntry = Type.Object(
  {
    classId: Type.String(),
    code: Nullable(Type.String()),
    title: Type.String(),
    kind: Kind,
    course: Type.Object({ courseId: Type.String(), code: Nullable(Type.String()), title: Type.String() }),
    school: School,
    terms: Type.Array(
      Type.Object({
        termId: Type.String(),
        title: Type.String(),
        startDate: CalendarDate,
        endDate: CalendarDate,
      }),
    ),
    teachers: Type.Array(
      Type.Object({
        firstname: Type.String(),
        lastname: Type.String(),
        email: Nullable(Type.String()),
        primary: Type.Boolean(),
      }),
    ),
    location: Nullable(Type.String()),
    periods: Type.Array(Type.String()),
    meetings: Type.Array(Meeting, {
      description: 'Every week, by day and start; empty if the school does not say.',
    }),
    subjects: Type.Array(Type.String()),
    enrolment: Type.Object({ startDate: Nullable(CalendarDate), endDate: Nullable(CalendarDate) }),
    updatedAt: Timestamp(),
  },
  { $id: 'Class' },
)

/** A class as its teacher sees it. */
export const TaughtClass = Type.Object(
  {
    ...Type.Omit(ClassEntry, ['enrolment']).properties,
    students: Type.Array(
      Type.Object({
        firstname: Type.String(),
        lastname: Type.String(),
        preferredName: Nullable(Type.String()),
        pronouns: Nullable(Type.String()),
        email: Nullable(Type.String()),
        startDate: Nullable(CalendarDate),
        endDate: Nullable(CalendarDate),
      }),
    ),
  },
  { $id: 'TaughtClass' },
)

const Export = Type.Object({
  exportedAt: Timestamp(),
  profile: Ref(StudentProfile),
  classes: Type.Array(Ref(ClassEntry)),
  calendarFeeds: Type.Array(Feed),
  ...HistoryFields,
})

export interface StudentRoutesDeps {
  readonly students: Students
  readonly callerOf: CallerOf<LiveSession>
}

export function studentRoutes(root: FastifyInstance, { students, callerOf }: StudentRoutesDeps): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['student']
  const config = routeConfig({ access: 'student' })

  app.get(
    '/student/me',
    {
      config,
      schema: {
        tags,
        operationId: 'getOwnStudent',
        summary: 'My profile',
        response: { 200: Ref(StudentProfile), ...problems(...tokenProblems, 'forbidden') },
      },
    },
    (request) => students.profileOf(callerOf(request)),
  )

  app.get(
    '/student/me/classes',
    {
      config,
      schema: {
        tags,
        operationId: 'listOwnClasses',
        summary: 'My classes',
        description:
          'Current ones unless asked otherwise, by whole days in the school’s time zone, first and last included. Sorted by start date, then title.',
        querystring: WhenQuery,
        response: {
          200: Type.Object({ classes: Type.Array(Ref(ClassEntry)) }),
          204: Empty,
          ...problems('invalid-request', ...tokenProblems, 'forbidden'),
        },
      },
    },
    async (request, reply) => {
      const classes = await students.classes(callerOf(request), request.query.when ?? 'current')
      if (classes.length === 0) return reply.code(204).send()
      // The schema's serialiser costs a third of this endpoint. The import alone decides what a class holds.
      return reply.type('application/json; charset=utf-8').serializer(JSON.stringify).send({ classes })
    },
  )

  app.get(
    '/student/me/export',
    {
      config,
      schema: {
        tags,
        operationId: 'exportOwnStudent',
        summary: 'Everything held about me',
        response: { 200: Export, ...problems(...tokenProblems, 'forbidden') },
      },
    },
    async (request, reply) => {
      reply.header('Content-Disposition', 'attachment; filename="chiron-export.json"')
      return students.export(callerOf(request))
    },
  )
}

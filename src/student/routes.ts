import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { callerOf } from '../http/access.ts'
import { Empty, HistoryFields, Id, Nullable, problems, Timestamp, tokenProblems } from '../http/schemas.ts'
import type { When } from './classes.ts'
import type { Students } from './student.ts'

const School = Type.Object({ schoolId: Type.String(), name: Type.String() })
const CalendarDate = Type.String({ format: 'date', examples: ['2026-09-01'] })
const Kind = Type.Enum(['course', 'homeroom', 'rotation', 'practical', 'tutorial'])

export const StudentProfile = Type.Object(
  {
    userId: Id('The student’s id.'),
    studentNumber: Nullable(Type.String()),
    firstname: Type.String(),
    lastname: Type.String(),
    preferredName: Nullable(Type.String()),
    pronouns: Nullable(Type.String()),
    email: Type.String(),
    status: Type.Enum(['active', 'inactive', 'suspended']),
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
    subjects: Type.Array(Type.String()),
    enrolment: Type.Object({ startDate: Nullable(CalendarDate), endDate: Nullable(CalendarDate) }),
    updatedAt: Timestamp(),
  },
  { $id: 'Class' },
)

const Export = Type.Object({
  exportedAt: Timestamp(),
  profile: Type.Ref('StudentProfile'),
  classes: Type.Array(Type.Ref('Class')),
  ...HistoryFields,
})

export function studentRoutes(root: FastifyInstance, { students }: { students: Students }): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['student']
  const config = { access: 'student' } as object

  app.get(
    '/student/me',
    {
      config,
      schema: {
        tags,
        summary: 'My profile',
        response: { 200: Type.Ref('StudentProfile'), ...problems(...tokenProblems, 'forbidden') },
      },
    },
    async (request) => students.profileOf(callerOf(request)),
  )

  app.get(
    '/student/me/classes',
    {
      config,
      schema: {
        tags,
        summary: 'My classes',
        description:
          'Current ones unless asked otherwise, by whole days in the school’s time zone, first and last included. Sorted by start date, then title.',
        querystring: Type.Object({ when: Type.Optional(Type.Enum(['current', 'upcoming', 'past', 'all'])) }),
        response: {
          200: Type.Object({ classes: Type.Array(Type.Ref('Class')) }),
          204: Empty,
          ...problems('invalid-request', ...tokenProblems, 'forbidden'),
        },
      },
    },
    async (request, reply) => {
      const classes = await students.classes(callerOf(request), (request.query.when ?? 'current') as When)
      return classes.length === 0 ? reply.code(204).send() : ({ classes } as never)
    },
  )

  app.get(
    '/student/me/export',
    {
      config,
      schema: {
        tags,
        summary: 'Everything held about me',
        response: { 200: Export, ...problems(...tokenProblems, 'forbidden') },
      },
    },
    async (request, reply) => {
      reply.header('Content-Disposition', 'attachment; filename="chiron-export.json"')
      return (await students.export(callerOf(request))) as never
    },
  )
}

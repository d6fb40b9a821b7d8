/** What a student reads. Students come by the roster; until one is imported nobody holds a student's token. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { AppError } from '../errors.ts'
import { Empty, Id, Nullable, problems, Timestamp, tokenProblems } from '../http/schemas.ts'

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
    school: School,
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

export function studentRoutes(root: FastifyInstance): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['student']
  const config = { access: 'student' } as object
  const nobody = async () => {
    throw new AppError('session-ended')
  }

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
    nobody,
  )

  app.get(
    '/student/me/classes',
    {
      config,
      schema: {
        tags,
        summary: 'My classes',
        querystring: Type.Object({ when: Type.Optional(Type.Enum(['current', 'upcoming', 'past', 'all'])) }),
        response: {
          200: Type.Object({ classes: Type.Array(Type.Ref('Class')) }),
          204: Empty,
          ...problems('invalid-request', ...tokenProblems, 'forbidden'),
        },
      },
    },
    nobody,
  )
}

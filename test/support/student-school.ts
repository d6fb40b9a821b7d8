/** A school whose student Ada has one class of every sort and time, as of mid-November 2026. */
import { after, before } from 'node:test'
import type { Engine } from './engines.ts'
import {
  addClass,
  addUser,
  autumn,
  bulk,
  change,
  drop,
  edited,
  emptySchool,
  enrol,
  type School,
} from './roster-school.ts'
import { rosterOf } from './roster-world.ts'
import { type Service, startService } from './service.ts'

export const spring = { startDate: '2027-01-04', endDate: '2027-05-28' }

export function studentSchool(others: readonly string[]): School {
  const school = emptySchool()
  school.academicSessions.set('term-2', { title: 'Spring', type: 'term', ...spring, schoolYear: '2027' })
  addUser(school, 'ada', 'student', {
    givenName: 'Ada',
    familyName: 'Byron',
    identifier: 'S100',
    email: 'Ada.Byron@school.example',
    grades: '4',
    password: 'hunter2',
    preferredGivenName: 'Addie',
    pronouns: 'she/her',
  })
  for (const name of others) addUser(school, name, 'student', { givenName: name })
  addUser(school, 'tea-1', 'teacher', { givenName: 'Tom', familyName: 'Gray' })
  addUser(school, 'tea-2', 'teacher', { givenName: 'Ann', familyName: 'Abel', email: '' })
  addUser(school, 'tea-3', 'teacher', { givenName: 'Bea', familyName: 'Abel' })

  addClass(school, 'anat', {
    title: 'Anatomy A',
    classCode: 'VET101-A',
    termSourcedIds: 'term-2,term-1',
    location: 'Hall 1',
    periods: '1,2',
    subjects: 'Anatomy,Surgery',
  })
  enrol(school, 'tea-3', 'anat', { role: 'teacher' })
  enrol(school, 'tea-1', 'anat', { role: 'teacher', primary: 'true' })
  enrol(school, 'tea-2', 'anat', { role: 'teacher' })
  enrol(school, 'ada', 'anat')
  addClass(school, 'home', { title: 'Advisory', classType: 'homeroom' })
  enrol(school, 'ada', 'home', { beginDate: autumn.startDate })
  const rotation = (id: string, title: string, beginDate: string, endDate: string) => {
    addClass(school, id, { title, classType: 'ext:rotation' })
    enrol(school, 'ada', id, { beginDate, endDate })
  }
  rotation('rot-past', 'Bovine rotation', '2026-09-01', '2026-10-01')
  rotation('rot-now', 'Equine rotation', '2026-11-01', '2026-11-30')
  rotation('rot-next', 'Avian rotation', '2027-01-10', '2027-01-20')
  addClass(school, 'prac', { title: 'Suturing', classType: 'ext:practical', termSourcedIds: 'term-2' })
  enrol(school, 'ada', 'prac')
  return school
}

export interface ServedSchool {
  readonly service: Service
  readonly importedAt: string
  /** Imports a changed copy of the school, one second later. */
  reimport(edit: (school: School) => void): Promise<void>
  undo(): Promise<void>
}

/** A service with that school for a suite. */
export function schoolOfSuite(
  engine: Engine,
  others: readonly string[],
  use: (served: ServedSchool) => void,
): void {
  let service: Service | undefined
  before(async () => {
    service = await startService(engine)
    const { clock } = service
    const roster = rosterOf(service)
    const past = [studentSchool(others)]
    await roster.import(bulk(past[0]!))
    use({
      service,
      importedAt: new Date(clock.now()).toISOString(),
      async reimport(edit) {
        clock.advance(1_000)
        past.push(edited(past.at(-1)!, edit))
        await roster.import(bulk(past.at(-1)!))
      },
      async undo() {
        await roster.undo()
        past.pop()
      },
    })
  })
  after(() => service?.stop())
}

/** Ways to stop being a student and become one again. */
export const leavings: {
  readonly how: string
  readonly name: string
  leave(school: School): void
  comeBack(school: School): void
}[] = [
  {
    how: 'leaves the roster',
    name: 'leaver',
    leave: (s) => drop(s, 'leaver'),
    comeBack: (s) => addUser(s, 'leaver', 'student'),
  },
  {
    how: 'is disabled',
    name: 'disabled',
    leave: (s) => change(s.users, 'disabled', { enabledUser: 'false' }),
    comeBack: (s) => change(s.users, 'disabled', { enabledUser: 'true' }),
  },
  {
    how: 'loses the role',
    name: 'switch',
    leave: (s) => change(s.roles, 'role-switch', { role: 'teacher' }),
    comeBack: (s) => change(s.roles, 'role-switch', { role: 'student' }),
  },
  {
    how: 'loses the address',
    name: 'silent',
    leave: (s) => change(s.users, 'silent', { email: '' }),
    comeBack: (s) => change(s.users, 'silent', { email: 'silent@school.example' }),
  },
]

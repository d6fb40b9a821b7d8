/** What a generated school teaches: courses of five years, and any number of classes in them, each made from its number. */
import type { Row } from '../../demo/oneroster.ts'
import { drawFor, pick } from './chance.ts'
import { classId, type Plan, schoolId, universityId } from './plan.ts'

export type Kind = 'homeroom' | 'course' | 'practical' | 'tutorial' | 'rotation'

export const years = 5

const lectured: readonly (readonly string[])[] = [
  [
    'Anatomy of Domestic Animals',
    'Cell Biology',
    'Histology',
    'Biochemistry',
    'Animal Husbandry',
    'Genetics',
  ],
  ['Physiology', 'Microbiology', 'Parasitology', 'Immunology', 'Nutrition', 'Embryology'],
  ['Pathology', 'Pharmacology', 'Toxicology', 'Epidemiology', 'Public Health, Food and Law', 'Virology'],
  [
    'Small Animal Medicine',
    'Equine Medicine',
    'Surgery',
    'Anaesthesia',
    'Reproduction',
    'Diagnostic Imaging',
  ],
  ['Clinical Reasoning', 'Professional Practice', 'Emergency and Critical Care', 'Evidence in Practice'],
]
const rotations: readonly string[] = [
  ...['Equine Surgery', 'Small Animal Internal Medicine', 'Anaesthesia, Theatre', 'Exotics', 'Dentistry'],
  ...['Farm Animal Health', 'Radiology', 'Dermatology', 'Shelter Medicine', 'Ophthalmology', 'Cardiology'],
]
const buildings = ['Hunter Building', 'Lister Building', 'Teaching Hospital', 'Equine Centre', 'Home Farm']
const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri']

/** Of a hundred classes of a year, how many are of each kind, in the order in which they stand. */
const shares: readonly (readonly (readonly [Kind, number])[])[] = [
  ...Array.from({ length: 3 }, () => [
    ...([
      ['homeroom', 10],
      ['course', 45],
      ['practical', 30],
      ['tutorial', 15],
    ] as const),
  ]),
  [
    ['homeroom', 8],
    ['course', 40],
    ['practical', 20],
    ['tutorial', 12],
    ['rotation', 20],
  ],
  [
    ['homeroom', 8],
    ['course', 12],
    ['tutorial', 10],
    ['rotation', 70],
  ],
]

function kindAt(year: number, part: number): Kind {
  let reached = 0
  for (const [kind, share] of shares[year - 1]!) {
    reached += share
    if (part * 100 < reached) return kind
  }
  return 'homeroom'
}

/** Classes are dealt to the years in turn; these say which year has class `c`, and the other way round. */
export const yearOfClass = (c: number) => (c % years) + 1
export const classOfYear = (year: number, nth: number) => nth * years + year - 1
export const classesInYear = (plan: Plan, year: number) => Math.ceil((plan.classes - year + 1) / years)

export function kindOf(plan: Plan, c: number): Kind {
  const year = yearOfClass(c)
  return kindAt(year, Math.floor(c / years) / classesInYear(plan, year))
}

export type Span = 'first' | 'second' | 'year'

export function spanOf(plan: Plan, c: number): Span {
  const kind = kindOf(plan, c)
  if (kind === 'homeroom' || kind === 'rotation') return 'year'
  return pick(drawFor(plan.seed, 'span', c), ['first', 'first', 'second', 'second', 'year'] as const)
}

interface Course {
  readonly id: string
  readonly title: string
  readonly year: number | null
}

const guidance: Course = { id: 'course-guidance', title: 'Academic Guidance', year: null }
const lectureCourses: readonly (readonly Course[])[] = lectured.map((titles, i) =>
  titles.map((title, nth) => ({
    id: `course-${i + 1}${String(nth + 1).padStart(2, '0')}`,
    title,
    year: i + 1,
  })),
)
const rotationCourses: readonly Course[] = rotations.map((title, nth) => ({
  ...{ id: `course-r${String(nth + 1).padStart(2, '0')}`, title, year: null },
}))

function courseOf(plan: Plan, c: number): Course {
  const kind = kindOf(plan, c)
  if (kind === 'homeroom') return guidance
  const nth = Math.floor(c / years)
  const from = kind === 'rotation' ? rotationCourses : lectureCourses[yearOfClass(c) - 1]!
  return from[nth % from.length]!
}

export function* courseRows(plan: Plan): Generator<Row<'courses'>> {
  for (const { id, title, year } of [guidance, ...lectureCourses.flat(), ...rotationCourses])
    yield {
      sourcedId: id,
      schoolYearSourcedId: plan.calendar.year.sourcedId,
      title,
      courseCode: id.slice('course-'.length).toUpperCase(),
      grades: year === null ? '4,5' : String(year),
      orgSourcedId: schoolId,
      subjects: title.split(', ').join(','),
    }
}

/** In 1.1 there is no ext: vocabulary; metadata.kind says it. */
function typeOf(kind: Kind, version: Plan['version']): string {
  if (kind === 'homeroom') return kind
  return kind === 'course' || version === '1.1' ? 'scheduled' : `ext:${kind}`
}

function titleOf(kind: Kind, course: Course, c: number): string {
  const group = Math.floor(c / years) + 1
  if (kind === 'homeroom') return `Year ${yearOfClass(c)}, tutor group ${group}`
  return kind === 'course' ? `${course.title} (${group})` : `${course.title}, ${kind} ${group}`
}

function termIds({ calendar }: Plan, span: Span): string {
  return span === 'year'
    ? `${calendar.first.sourcedId},${calendar.second.sourcedId}`
    : calendar[span].sourcedId
}

function classRow(plan: Plan, c: number): Row<'classes'> {
  const [kind, course, draw] = [kindOf(plan, c), courseOf(plan, c), drawFor(plan.seed, 'class', c)]
  const period = () => `${pick(draw, weekdays)} ${1 + draw(8)}`
  return {
    sourcedId: classId(c),
    title: titleOf(kind, course, c),
    grades: String(yearOfClass(c)),
    courseSourcedId: course.id,
    classCode: `${course.id.slice('course-'.length).toUpperCase()}-${c + 1}`,
    classType: typeOf(kind, plan.version),
    location: `${pick(draw, buildings)}, Room ${draw(5)}.${String(1 + draw(30)).padStart(2, '0')}`,
    schoolSourcedId: schoolId,
    termSourcedIds: termIds(plan, spanOf(plan, c)),
    subjects: course.title.split(', ').join(','),
    periods: kind === 'rotation' ? '' : [...new Set([period(), period()])].join(','),
    'metadata.kind': kind,
  }
}

export function* classRows(plan: Plan): Generator<Row<'classes'>> {
  for (let c = 0; c < plan.classes; c++) yield classRow(plan, c)
}

export const orgRows: readonly Row<'orgs'>[] = [
  { sourcedId: universityId, name: 'University of Pelion', type: 'district' },
  {
    ...{ sourcedId: schoolId, name: 'School of Veterinary Medicine, Pelion', type: 'school' },
    parentSourcedId: universityId,
  },
]

/** Courses of the demo school, and their classes, practicals, tutorials and rotations. */

export interface Course {
  readonly code: string
  readonly title: string
  readonly year: number | null
  readonly subjects: readonly string[]
}

/** When the periods of a day begin and end. */
const hours = ['09:00-09:50', '10:00-10:50', '11:00-11:50', '13:00-13:50', '14:00-14:50', '15:00-15:50']

/** The times of periods such as `Mon 1`, as `metadata.meets` has them; adjacent ones are one meeting. */
export function meetsOf(periods: readonly string[]): string {
  const meetings: { day: string; last: number; from: string; to: string }[] = []
  for (const period of periods) {
    const [day, nth] = period.split(' ') as [string, string]
    const [from, to] = hours[Number(nth) - 1]!.split('-') as [string, string]
    const before = meetings.at(-1)
    if (before?.day === day && before.last === Number(nth) - 1) {
      before.last++
      before.to = to
    } else meetings.push({ day, last: Number(nth), from, to })
  }
  return meetings.map(({ day, from, to }) => `${day} ${from}-${to}`).join('; ')
}

/** `first` and `second` are semesters; `year` is both. */
export type Span = 'first' | 'second' | 'year'

export interface Class {
  readonly code: string
  readonly title: string
  readonly course: string
  readonly type: 'scheduled' | 'homeroom' | 'ext:practical' | 'ext:tutorial' | 'ext:rotation'
  readonly year: number
  readonly span: Span
  readonly location: string
  readonly periods: readonly string[]
  /** The first is the primary teacher. */
  readonly teachers: readonly string[]
}

function course(code: string, title: string, year: number | null, ...subjects: string[]): Course {
  return { code, title, year, subjects }
}

export const courses: readonly Course[] = [
  course('GUID', 'Academic Guidance', null, 'Study skills'),
  course('ANAT1', 'Anatomy of Domestic Animals', 1, 'Anatomy'),
  course('CELL1', 'Cell Biology and Histology', 1, 'Histology', 'Biochemistry'),
  course('HUSB1', 'Animal Husbandry and Handling', 1, 'Animal husbandry'),
  course('PHYS2', 'Veterinary Physiology', 2, 'Physiology'),
  course('INFC2', 'Microbiology, Virology and Parasitology', 2, 'Microbiology', 'Parasitology'),
  course('NUTR2', 'Animal Nutrition and Genetics', 2, 'Nutrition', 'Genetics'),
  course('PATH3', 'General and Systemic Pathology', 3, 'Pathology'),
  course('PHAR3', 'Pharmacology and Therapeutics', 3, 'Pharmacology', 'Toxicology'),
  course('EPID3', 'Epidemiology and Veterinary Public Health', 3, 'Public health'),
  course('SMED4', 'Medicine of Dogs and Cats', 4, 'Small animal medicine'),
  course('EQUI4', 'Equine Medicine and Reproduction', 4, 'Equine medicine', 'Reproduction'),
  course('SURG4', 'Principles of Surgery', 4, 'Surgery'),
  course('SHEL4', 'Shelter Medicine', 4, 'Small animal medicine'),
  course('CLIN5', 'Clinical Case Rounds', 5, 'Clinical reasoning'),
  course('ROEQ5', 'Equine Surgery', 5, 'Equine medicine', 'Surgery'),
  course('ROSM5', 'Small Animal Internal Medicine', 5, 'Small animal medicine'),
  course('ROAN5', 'Anaesthesia and Analgesia', 5, 'Anaesthesia'),
  course('ROEX5', 'Exotics and Wildlife', 5, 'Exotic animal medicine'),
  course('ROFA5', 'Farm Animal Health', 5, 'Farm animal medicine'),
  course('RODI5', 'Diagnostic Imaging', 5, 'Radiology'),
]

type Where = readonly [location: string, ...periods: string[]]

function scheduled(code: string, year: number, span: Span, where: Where, ...teachers: string[]): Class {
  const [location, ...periods] = where
  const { title } = courses.find((c) => c.code === code)!
  return { code, title, course: code, type: 'scheduled', year, span, location, periods, teachers }
}

function inCourse(
  type: 'ext:practical' | 'ext:tutorial' | 'ext:rotation',
  [code, title]: readonly [code: string, title: string],
  year: number,
  span: Span,
  [location, ...periods]: Where,
  ...teachers: string[]
): Class {
  return { code, title, course: code.split('-')[0]!, type, year, span, location, periods, teachers }
}

const practical = inCourse.bind(null, 'ext:practical')
const tutorial = inCourse.bind(null, 'ext:tutorial')
const rotation = inCourse.bind(null, 'ext:rotation')

function homeroom(year: number, location: string, teacher: string): Class {
  const title = `Year ${year} tutor group`
  const code = `GUID-Y${year}`
  return {
    ...{ code, title, course: 'GUID', type: 'homeroom', year, span: 'year', location },
    ...{ periods: ['Mon 1'], teachers: [teacher] },
  }
}

/** In the past on any day. */
export const handlingCode = 'HUSB1-P'
export const shelterCode = 'SHEL4-R'
/** In the order in which students rotate. */
export const rotationCodes: readonly string[] = [
  ...['ROEQ5-R', 'ROSM5-R', 'ROAN5-R', 'ROEX5-R', 'ROFA5-R', 'RODI5-R'],
]

export const classes: readonly Class[] = [
  homeroom(1, 'Lister Building, Room 1.02', 'husbandry'),
  homeroom(2, 'Lister Building, Room 1.03', 'physiology'),
  homeroom(3, 'Lister Building, Room 2.01', 'pathology'),
  homeroom(4, 'Lister Building, Room 2.02', 'medicine'),
  homeroom(5, 'Teaching Hospital, Seminar Room', 'surgery'),
  scheduled('ANAT1', 1, 'year', ['Hunter Lecture Theatre', 'Mon 2', 'Wed 2', 'Fri 1'], 'anatomy'),
  scheduled('CELL1', 1, 'first', ['Hunter Lecture Theatre', 'Tue 1', 'Thu 2'], 'cells'),
  scheduled('HUSB1', 1, 'second', ['Lister Building, Room 0.10', 'Tue 3'], 'husbandry'),
  practical(['ANAT1-PA', 'Dissection, group A'], 1, 'year', ['Dissection Hall', 'Wed 5', 'Wed 6'], 'anatomy'),
  practical(
    ['ANAT1-PB', 'Dissection, group B'],
    ...([1, 'year', ['Dissection Hall', 'Thu 5', 'Thu 6']] as const),
    ...['anatomy', 'cells'],
  ),
  practical([handlingCode, 'Animal handling'], 1, 'first', ['Home Farm', 'Fri 3', 'Fri 4'], 'husbandry'),
  scheduled('PHYS2', 2, 'year', ['Hunter Lecture Theatre', 'Mon 3', 'Thu 1'], 'physiology'),
  scheduled('INFC2', 2, 'first', ['Lister Building, Room 0.12', 'Tue 2', 'Wed 3'], 'infection'),
  scheduled('NUTR2', 2, 'second', ['Lister Building, Room 0.12', 'Tue 2'], 'husbandry', 'cells'),
  practical(['INFC2-P', 'Microscopy of parasites'], 2, 'first', ['Microscopy Suite', 'Tue 5'], 'infection'),
  tutorial(
    ['PHYS2-T', 'Physiology problem class'],
    2,
    'year',
    ['Lister Building, Room 1.07', 'Fri 2'],
    'physiology',
  ),
  scheduled('PATH3', 3, 'year', ['Pathology Lecture Room', 'Mon 2', 'Wed 1'], 'pathology'),
  scheduled('PHAR3', 3, 'first', ['Hunter Lecture Theatre', 'Tue 4', 'Thu 3'], 'pharmacology'),
  scheduled('EPID3', 3, 'second', ['Lister Building, Room 2.10', 'Thu 4'], 'infection'),
  practical(['PATH3-P', 'Post-mortem room'], 3, 'year', ['Post-mortem Room', 'Wed 5', 'Wed 6'], 'pathology'),
  tutorial(
    ['PHAR3-T', 'Prescribing tutorial'],
    3,
    'first',
    ['Lister Building, Room 2.04', 'Fri 1'],
    'pharmacology',
  ),
  scheduled('SMED4', 4, 'year', ['Teaching Hospital, Lecture Room', 'Mon 3', 'Tue 1'], 'medicine'),
  scheduled('EQUI4', 4, 'first', ['Equine Centre, Lecture Room', 'Wed 2', 'Thu 2'], 'equine'),
  scheduled('SURG4', 4, 'second', ['Teaching Hospital, Lecture Room', 'Wed 2'], 'surgery', 'anaesthesia'),
  practical(['SURG4-P', 'Suturing and knots'], 4, 'year', ['Clinical Skills Laboratory', 'Thu 5'], 'surgery'),
  rotation([shelterCode, 'Shelter medicine placement'], 4, 'year', ['City Animal Shelter'], 'medicine'),
  tutorial(
    ['CLIN5-T', 'Case rounds'],
    5,
    'year',
    ['Teaching Hospital, Seminar Room', 'Fri 1'],
    'medicine',
    'surgery',
  ),
  rotation(['ROEQ5-R', 'Equine Surgery'], 5, 'year', ['Equine Centre, Theatre 1'], 'equine', 'surgery'),
  rotation(
    ['ROSM5-R', 'Small Animal Internal Medicine'],
    5,
    'year',
    ['Teaching Hospital, Ward 2'],
    'medicine',
  ),
  rotation(['ROAN5-R', 'Anaesthesia'], 5, 'year', ['Teaching Hospital, Theatre 3'], 'anaesthesia'),
  rotation(['ROEX5-R', 'Exotics'], 5, 'year', ['Teaching Hospital, Exotics Ward'], 'medicine', 'infection'),
  rotation(['ROFA5-R', 'Farm Animal Health'], 5, 'year', ['Home Farm and visits'], 'husbandry'),
  rotation(['RODI5-R', 'Diagnostic Imaging'], 5, 'year', ['Imaging Suite'], 'imaging'),
]

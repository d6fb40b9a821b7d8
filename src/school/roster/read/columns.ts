/**
 * The CSV files of OneRoster 1.1 and 1.2 as tables: their columns, which ones are required, which ones Chiron reads,
 * and the values of enumerations. No logic. (1.1: "CSV Tables"; 1.2: "CSV Binding".)
 */
import type { ClassKind, Kind } from '../records.ts'

export type Version = '1.1' | '1.2'

export interface FileColumns {
  /** Every column of the standard, in order. */
  readonly all: readonly string[]
  /** Columns that must exist, and be filled except in rows with status tobedeleted. */
  readonly needed: readonly string[]
  /** Required columns whose cells may be empty. */
  readonly mayBeEmpty: readonly string[]
  /**
   * Optional columns that Chiron reads. If one is missing and another column looks like a misspelling of it, that is an
   * error.
   */
  readonly read: readonly string[]
}

const every = ['sourcedId', 'status', 'dateLastModified'] as const

function columns(all: string, needed: string, read: string, mayBeEmpty = ''): FileColumns {
  return {
    all: [...every, ...all.split(' ')],
    needed: ['sourcedId', ...needed.split(' ')],
    mayBeEmpty: mayBeEmpty.split(' '),
    read: ['status', 'dateLastModified', ...read.split(' ')],
  }
}

const orgs = columns('name type identifier parentSourcedId', 'name type', 'parentSourcedId')

const academicSessions = columns(
  'title type startDate endDate parentSourcedId schoolYear',
  'title type startDate endDate',
  'parentSourcedId',
)

const courses = columns(
  'schoolYearSourcedId title courseCode grades orgSourcedId subjects subjectCodes',
  'title',
  'courseCode orgSourcedId',
)

const classes = columns(
  'title grades courseSourcedId classCode classType location schoolSourcedId termSourcedIds subjects subjectCodes periods',
  'title courseSourcedId classType schoolSourcedId termSourcedIds',
  'classCode location subjects periods',
)

const users11 = columns(
  'enabledUser orgSourcedIds role username userIds givenName familyName middleName identifier email sms phone agentSourcedIds grades password',
  'enabledUser orgSourcedIds role givenName familyName',
  'identifier email grades',
  'givenName familyName',
)

// Preferred names and pronouns were added in 1.2 and 1.2.1, so a 1.2 file may lack them.
const users12 = columns(
  'enabledUser username userIds givenName familyName middleName identifier email sms phone agentSourcedIds grades password userMasterIdentifier resourceSourcedIds preferredGivenName preferredMiddleName preferredFamilyName primaryOrgSourcedId pronouns',
  'givenName familyName',
  'enabledUser identifier email grades preferredGivenName preferredFamilyName pronouns',
  'givenName familyName',
)

const roles = columns(
  'userSourcedId roleType role beginDate endDate orgSourcedId userProfileSourcedId',
  'userSourcedId roleType role',
  'beginDate endDate orgSourcedId',
)

const userProfiles = columns(
  'userSourcedId profileType vendorId applicationId description credentialType username password',
  'userSourcedId',
  'profileType',
)

const enrollments = columns(
  'classSourcedId schoolSourcedId userSourcedId role primary beginDate endDate',
  'classSourcedId userSourcedId role',
  'schoolSourcedId primary beginDate endDate',
)

export const manifestColumns: FileColumns = {
  all: ['propertyName', 'value'],
  needed: ['propertyName', 'value'],
  mayBeEmpty: [],
  read: [],
}

export interface DataFile {
  /** As the standard spells it, without `.csv`. */
  readonly name: string
  /** null: only the form is checked. */
  readonly kind: Kind | null
  /** Without it a bulk set would take everybody's classes, or everybody, off the roster. */
  readonly vital: boolean
  /** undefined: this version has no such file. */
  readonly columns: Readonly<Record<Version, FileColumns | undefined>>
}

const inBoth = (file: FileColumns) => ({ '1.1': file, '1.2': file })
const inNewer = (file: FileColumns) => ({ '1.1': undefined, '1.2': file })

/** In reading order. */
export const dataFiles: readonly DataFile[] = [
  { name: 'orgs', kind: 'org', vital: false, columns: inBoth(orgs) },
  { name: 'academicSessions', kind: 'term', vital: false, columns: inBoth(academicSessions) },
  { name: 'courses', kind: 'course', vital: false, columns: inBoth(courses) },
  { name: 'classes', kind: 'class', vital: true, columns: inBoth(classes) },
  { name: 'users', kind: 'user', vital: true, columns: { '1.1': users11, '1.2': users12 } },
  { name: 'userProfiles', kind: null, vital: false, columns: inNewer(userProfiles) },
  { name: 'roles', kind: 'role', vital: true, columns: inNewer(roles) },
  { name: 'enrollments', kind: 'enrolment', vital: true, columns: inBoth(enrollments) },
]

/** Files of the standard, in either version, that Chiron does not use. */
export const ignoredFiles: readonly string[] = [
  'categories',
  'classResources',
  'courseResources',
  'demographics',
  'lineItemLearningObjectiveIds',
  'lineItems',
  'lineItemScoreScales',
  'resources',
  'resultLearningObjectiveIds',
  'results',
  'resultScoreScales',
  'scoreScales',
  'userResources',
]

/** Common names for columns of the standard (lower case, letters and digits only). */
export const columnAliases: Readonly<Record<string, readonly string[]>> = {
  id: ['sourcedId'],
  guid: ['sourcedId'],
  firstname: ['givenName'],
  forename: ['givenName'],
  prenom: ['givenName'],
  nombre: ['givenName', 'name'],
  lastname: ['familyName'],
  surname: ['familyName'],
  nom: ['familyName', 'name'],
  apellido: ['familyName'],
  apellidos: ['familyName'],
  emailaddress: ['email'],
  mail: ['email'],
  courriel: ['email'],
  correo: ['email'],
  correoelectronico: ['email'],
  titre: ['title'],
  titulo: ['title'],
  studentid: ['identifier'],
  studentnumber: ['identifier'],
  matricule: ['identifier'],
  matricula: ['identifier'],
  enabled: ['enabledUser'],
  startdate: ['beginDate'],
  begindate: ['startDate'],
  userid: ['userSourcedId'],
  classid: ['classSourcedId'],
  courseid: ['courseSourcedId'],
  schoolid: ['schoolSourcedId'],
  orgid: ['orgSourcedId'],
  parentid: ['parentSourcedId'],
  preferredfirstname: ['preferredGivenName'],
  preferredlastname: ['preferredFamilyName'],
  termsourcedid: ['termSourcedIds'],
  orgsourcedid: ['orgSourcedId', 'orgSourcedIds'],
}

/** Values of both versions together: none of them has two meanings. */
export const enumerations = {
  status: ['active', 'tobedeleted', 'inactive'],
  orgType: ['department', 'school', 'district', 'local', 'state', 'national'],
  sessionType: ['gradingPeriod', 'semester', 'schoolYear', 'term'],
  classType: ['homeroom', 'scheduled'],
  role: [
    'administrator',
    'aide',
    'counselor',
    'districtAdministrator',
    'guardian',
    'parent',
    'principal',
    'proctor',
    'relative',
    'siteAdministrator',
    'student',
    'systemAdministrator',
    'teacher',
  ],
  roleType: ['primary', 'secondary'],
  mode: ['absent', 'bulk', 'delta'],
} as const

/** Common words for values of the standard, without case and accents. */
export const valueAliases: Readonly<Record<string, string>> = {
  a: 'active',
  enabled: 'active',
  deleted: 'tobedeleted',
  s: 'student',
  stu: 'student',
  learner: 'student',
  pupil: 'student',
  etudiant: 'student',
  etudiante: 'student',
  eleve: 'student',
  estudiante: 'student',
  alumno: 'student',
  alumna: 'student',
  t: 'teacher',
  instructor: 'teacher',
  lecturer: 'teacher',
  professor: 'teacher',
  faculty: 'teacher',
  enseignant: 'teacher',
  enseignante: 'teacher',
  professeur: 'teacher',
  docente: 'teacher',
  profesor: 'teacher',
  profesora: 'teacher',
}

/** Enumerations in which the standard allows `ext:` values. */
export const extensible: ReadonlySet<keyof typeof enumerations> = new Set([
  'orgType',
  'sessionType',
  'classType',
  'role',
])

export const classKinds: Readonly<Record<string, ClassKind>> = {
  scheduled: 'course',
  homeroom: 'homeroom',
  'ext:rotation': 'rotation',
  'ext:practical': 'practical',
  'ext:tutorial': 'tutorial',
}

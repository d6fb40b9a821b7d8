/**
 * The CSV files of OneRoster 1.1 and 1.2 as tables: their columns, which ones are required, which ones Chiron reads,
 * and the values of enumerations. No logic. (1.1: "CSV Tables"; 1.2: "CSV Binding".)
 */
import type { ClassKind, Kind } from '../records.ts'

export type Version = '1.1' | '1.2'

export interface FileColumns {
  readonly all: readonly string[]
  /** Columns that must exist, and be filled except in rows with status tobedeleted. */
  readonly needed: readonly string[]
  readonly mayBeEmpty: readonly string[]
  /**
   * Optional columns that Chiron reads. If one is missing and another column looks like a misspelling of it, that is an
   * error.
   */
  readonly read: readonly string[]
}

const words = (text: string): readonly string[] => text.split(' ')

function columns(all: string, needed: string, read: string, mayBeEmpty = ''): FileColumns {
  return {
    all: ['sourcedId', 'status', 'dateLastModified', ...words(all)],
    needed: ['sourcedId', ...words(needed)],
    mayBeEmpty: words(mayBeEmpty),
    read: ['status', 'dateLastModified', ...words(read)],
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

export const ignoredFiles = words(
  'categories classResources courseResources demographics lineItemLearningObjectiveIds lineItems lineItemScoreScales resources resultLearningObjectiveIds results resultScoreScales scoreScales userResources',
)

/** Common names for columns of the standard (without case, accents and punctuation), the likeliest column first. */
export const columnAliases: Readonly<Record<string, readonly string[]>> = {
  sourcedId: words('id guid'),
  givenName: words('firstname forename prenom nombre'),
  familyName: words('lastname surname nom apellido apellidos'),
  name: words('nom nombre'),
  email: words('emailaddress mail courriel correo correoelectronico'),
  title: words('titre titulo'),
  identifier: words('studentid studentnumber matricule matricula'),
  enabledUser: words('enabled'),
  beginDate: words('startdate'),
  startDate: words('begindate'),
  userSourcedId: words('userid'),
  classSourcedId: words('classid'),
  courseSourcedId: words('courseid'),
  schoolSourcedId: words('schoolid'),
  orgSourcedId: words('orgid orgsourcedid'),
  orgSourcedIds: words('orgsourcedid'),
  parentSourcedId: words('parentid'),
  preferredGivenName: words('preferredfirstname'),
  preferredFamilyName: words('preferredlastname'),
  termSourcedIds: words('termsourcedid'),
}

/** Values of both versions together: none of them has two meanings. */
export const enumerations = {
  status: words('active tobedeleted inactive'),
  orgType: words('department school district local state national'),
  sessionType: words('gradingPeriod semester schoolYear term'),
  classType: words('homeroom scheduled'),
  role: words(
    'administrator aide counselor districtAdministrator guardian parent principal proctor relative siteAdministrator student systemAdministrator teacher',
  ),
  roleType: words('primary secondary'),
  mode: words('absent bulk delta'),
}

/** Common words for values of the standard, without case and accents. */
export const valueAliases: Readonly<Record<string, readonly string[]>> = {
  active: words('a enabled'),
  tobedeleted: words('deleted'),
  student: words('s stu learner pupil etudiant etudiante eleve estudiante alumno alumna'),
  teacher: words(
    't instructor lecturer professor faculty enseignant enseignante professeur docente profesor profesora',
  ),
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

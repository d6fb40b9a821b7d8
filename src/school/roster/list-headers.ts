/**
 * Recognises the columns of a class list by their headers, in English, French and Spanish. A header is compared without
 * case, accents and small words, so "N° de l’étudiant" and "Student number" are both the number. Pure.
 */
import { folded } from '../../platform/lib/folded.ts'
import { bare } from '../../platform/lib/nearest.ts'
import { type Field, fieldNames } from './words.ts'

export { type Field, fieldNames, fields } from './words.ts'

export function fieldNamed(text: string): Field | undefined {
  return fieldNames.find((field) => bare(field) === bare(text))
}

const words = (text: string) => new Set(text.split(' '))

const studentWords = words(
  'student students pupil pupils learner etudiant etudiante etudiants eleve eleves alumno alumna alumnos estudiante estudiantes',
)
const teacherWords = words(
  'teacher teachers instructor instructors lecturer lecturers professor professors prof enseignant enseignante enseignants professeur professeurs intervenant formateur docente docentes profesor profesora profesores profesorado responsable coordinator coordinateur coordinador',
)
const classWords = words(
  'class classes course courses subject subjects unit module modules cours classe matiere matieres enseignement enseignements ue clase clases asignatura asignaturas materia materias modulo modulos cursos',
)
const smallWords = words(
  'the of a de del la le les l d du des el los las un une and et y e institutional institutionnel institutionnelle institucional universitaire universitario universitaria university univ uni legal',
)
const numberWords = words('number no n nr num numero')
/** Columns about somebody other than the student. */
const otherPeople = words(
  'personal personnel personnelle perso private prive privado parent parents padre madre guardian tutor emergency urgence emergencia',
)

/** Without spaces and small words. */
const knownWords: Readonly<Partial<Record<Field, string>>> = {
  name: 'name fullname completename displayname nom nomcomplet nomprenom prenomnom nombre nombrecompleto nombreapellido nombreapellidos apellidosnombre apellidosnombres apellidonombre lastnamefirstname namelastfirst surnamefirstname firstnamelastname',
  firstName:
    'firstname firstnames first givenname givennames given forename forenames prenom prenoms nombres nombrepila primernombre',
  lastName:
    'lastname lastnames last familyname family surname surnames nomfamille patronyme nomusage apellido apellidos primerapellido apellidopaterno apellido1 1apellido',
  secondLastName: 'segundoapellido apellidomaterno apellido2 2apellido secondlastname secondsurname',
  number:
    'number no n nr num numero id identifier identifiant identificador studentid studentnumber matricule matriculation matricula expediente ine nia registration enrolment enrollment admission roll',
  email:
    'email emails mail emailaddress emailid mailaddress schoolemail courriel courrielecole adressemail adresseemail adressecourriel adresseelectronique mel correo correoelectronico direccioncorreo direccioncorreoelectronico direccionemail',
  year: 'year yr yearstudy studyyear yearlevel yeargroup grade level annee anneeetude anneeetudes niveau promotion promo ano anoestudio anoestudios anocarrera grado nivel',
  school: 'school campus ecole etablissement faculte escuela facultad centro sede',
  class: 'intitule libelle',
  code: 'code codigo id number numero no n cote sigle sigla crn',
  group: 'group section groupe grupo seccion groupetd',
  kind: 'kind type classtype tipo nature',
  term: 'term semester session schoolyear academicyear academicterm semestre cuatrimestre quadrimestre trimestre trimester periode periodo anneeuniversitaire anneeacademique anneescolaire cursoacademico anoacademico cicloescolar',
  start:
    'start starts startdate startson begin begins begindate beginning from firstday debut datedebut debutcours premierjour inicio fechainicio finicio desde comienzo fechacomienzo primerdia du del',
  end: 'end ends enddate endson until to lastday finish finishdate fin datefin fincours dernierjour fechafin ffin final fechafinal hasta termino fechatermino ultimodia au al',
  room: 'room location place classroom hall salle lieu local aula sala salon lugar',
  meets:
    'meets meetings meetingtimes meetingtime schedule timetable times time hours horaire horaires horario horarios creneau creneaux heure heures hora horas emploitemps',
  day: 'day days weekday jour jours dia dias',
  startTime: 'starttime begintime heuredebut horainicio horacomienzo',
  endTime: 'endtime finishtime heurefin horafin horafinal',
}
const known: Readonly<Partial<Record<Field, ReadonlySet<string>>>> = Object.fromEntries(
  Object.entries(knownWords).map(([field, text]) => [field, words(text)]),
)

/** `curso` is a year in Spain and a course elsewhere; the other columns decide. */
type Meaning = Field | 'curso'

/** "Enseignant(s)" and "Profesor/a" are single words, "firstName" is two. */
function wordsOf(header: string): string[] {
  const plain = header.replaceAll(/\((e|s|es|a|as|os)\)|\/(a|as|e|es)\b/gi, '')
  const spaced = plain.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
  return folded(spaced)
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
}

/** "No." or "N°" alone may be the student number or a row counter. */
export function mayCountRows(header: string): boolean {
  return /^(n|no|nr|num)$/.test(wordsOf(header).join(''))
}

/** Anything longer is text, not the name of a column. */
const headerCharactersMax = 250

function meaningOf(header: string): Meaning | null {
  if (header.length > headerCharactersMax) return null
  const all = wordsOf(header)
  if (all.some((word) => otherPeople.has(word))) return null
  const strong = all.filter((word) => !smallWords.has(word))
  const has = (names: ReadonlySet<string>) => strong.some((word) => names.has(word))
  const without = (...names: ReadonlySet<string>[]) =>
    strong.filter((word) => !names.some((some) => some.has(word))).join('')
  if (has(teacherWords)) {
    const rest = without(teacherWords, classWords)
    if (rest === '' || known.name!.has(rest)) return 'teacher'
    if (known.firstName!.has(rest)) return 'teacherFirstName'
    if (known.lastName!.has(rest)) return 'teacherLastName'
    return known.email!.has(rest) ? 'teacherEmail' : null
  }
  const whole = knownAs(all.join('')) ?? knownAs(strong.join(''))
  if (whole) return whole
  if (known.number!.has(without(numberWords))) return 'number'
  if (strong.join('') === 'curso') return 'curso'
  const rest = without(studentWords, classWords)
  if (has(classWords)) return ofClass(rest)
  if (has(studentWords)) return rest === '' ? 'name' : /^(code|codigo)$/.test(rest) ? 'number' : knownAs(rest)
  return null
}

function knownAs(text: string): Field | null {
  return fieldNames.find((field) => known[field]?.has(text)) ?? null
}

function ofClass(rest: string): Field | null {
  if (rest === '' || rest === 'title' || rest === 'titre' || rest === 'titulo' || known.name!.has(rest))
    return 'class'
  if (known.code!.has(rest)) return 'code'
  const field = knownAs(rest)
  return field !== null && field !== 'email' && field !== 'number' ? field : null
}

/** "Class 1", "Class 2" …: one of several columns for classes. */
export function isNumberedClass(header: string): boolean {
  const trimmed = header.trim()
  const name = trimmed.replace(/\d{1,2}$/, '')
  return name !== trimmed && meaningOf(name) === 'class'
}

export interface Columns {
  readonly at: ReadonlyMap<Field, number>
  /** Fields that two columns could be, with their positions. */
  readonly unclear: ReadonlyMap<Field, readonly number[]>
  /** Mapped fields whose column does not exist. */
  readonly missing: readonly Field[]
}

/** Headers by field, from `--map number=Matricola`. */
export type Mapping = ReadonlyMap<Field, string>

export function recogniseColumns(headers: readonly string[], mapping: Mapping): Columns {
  const at = new Map<Field, number>()
  const missing: Field[] = []
  const taken = new Set<number>()
  for (const [field, header] of mapping) {
    const wanted = bare(header)
    const isWanted = (each: string) =>
      each.length <= headerCharactersMax && each.trim() !== '' && bare(each) === wanted
    const column = headers.findIndex(isWanted)
    if (column < 0) missing.push(field)
    else at.set(field, column)
    taken.add(column)
  }
  const found = new Map<Meaning, number[]>()
  for (const [column, header] of headers.entries()) {
    const meaning = taken.has(column) ? null : meaningOf(header)
    if (meaning === null || at.has(meaning as Field)) continue
    found.set(meaning, [...(found.get(meaning) ?? []), column])
  }
  settle(found, at)
  const unclear = new Map<Field, number[]>()
  for (const [field, columns] of found as Map<Field, number[]>) {
    if (columns.length === 1) at.set(field, columns[0]!)
    else if (!missing.includes(field)) unclear.set(field, columns)
  }
  return { at, unclear, missing }
}

/** Words whose meaning depends on the other columns. */
function settle(found: Map<Meaning, number[]>, at: ReadonlyMap<Field, number>): void {
  const has = (field: Meaning) => found.has(field) || at.has(field as Field)
  const rename = (from: Meaning, to: Field) => {
    if (!found.has(from) || has(to)) return
    found.set(to, found.get(from)!)
    found.delete(from)
  }
  // "Nom" beside "Prénom" is the last name, "Nombre" beside "Apellidos" the first.
  if (has('firstName')) rename('name', 'lastName')
  else if (has('lastName')) rename('name', 'firstName')
  // A full name beside both parts is redundant.
  if (has('firstName') && has('lastName')) found.delete('name')
  rename('curso', has('class') ? 'year' : 'class')
  found.delete('curso')
  rename('group', has('class') ? 'group' : 'class')
}

/** "Apellidos y nombre" and "Nom et prénom" have the last name first. */
export function isFamilyFirst(header: string): boolean {
  return /^(apellido|nom\b.*\bprenom|name\W+last|last|sur|family)/.test(folded(header).trim())
}

/** A cell under "Classes" may list several. */
export const namesSeveral = (header: string) => severalWords.has(folded(header).trim())

const severalWords = words(
  'classes courses subjects modules matieres enseignements clases asignaturas materias modulos cursos',
)

const dayFirstWords =
  /\b(nom|prenom|nombres?|apellidos?|courriel|correo|debut|fin|inicio|hasta|desde|fecha|cours|clase|asignatura|salle|numero|matricule|matricula|etudiant|alumno)\b/

/** Whether the language of the headers puts the day before the month. */
export function isDayFirst(headers: readonly string[]): boolean {
  return headers.some((header) => dayFirstWords.test(folded(header)))
}

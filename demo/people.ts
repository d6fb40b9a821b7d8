/** People of the demo school. All are invented; example.edu never receives mail. */

export interface Student {
  readonly given: string
  readonly family: string
  /** The part of the address before the @. */
  readonly local: string
  readonly year: number
  readonly preferred?: string
  readonly pronouns?: string
  readonly enabled?: boolean
}

export interface Teacher {
  readonly key: string
  readonly given: string
  readonly family: string
}

export const studentDomain = 'students.example.edu'
export const teacherDomain = 'vet.example.edu'

const foreignLetters: Readonly<Record<string, string>> = {
  ł: 'l',
  ø: 'o',
  ß: 'ss',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  æ: 'ae',
  œ: 'oe',
  ı: 'i',
}

/** Turns a name into ASCII letters for an address; empty if it is not in Latin script. */
export function plainLetters(name: string): string {
  const lower = name.toLowerCase().replace(/[łøßđðþæœı]/g, (letter) => foreignLetters[letter]!)
  return lower.normalize('NFD').replace(/[^a-z]/g, '')
}

type Name = readonly [given: string, family: string, local?: string]

const namesByYear: readonly (readonly Name[])[] = [
  [
    ['Amélie', 'Rousseau'],
    ['Tomasz', 'Wójcik'],
    ['Grace', 'Okafor'],
    ['Hiro', 'Tanaka'],
    ['Lucía', 'Fernández'],
    ['Owen', 'Pritchard'],
    ['Priya', 'Raghunathan'],
    ['Jonas', 'Lindqvist'],
    ['Fatima', 'El Amrani'],
    ['Callum', 'MacLeod'],
    ['Beatriz', 'Carvalho'],
    ['Noah', 'Weiß'],
  ],
  [
    ['Siobhán', 'Ní Bhriain'],
    ['Mateo', 'Quispe'],
    ['Anneke', 'van der Meer'],
    ['Kwame', 'Mensah'],
    ['Yuki', 'Nakamura'],
    ['Elif', 'Yıldız'],
    ['Henry', 'Ashworth'],
    ['Zofia', 'Łukasik'],
    ['Daniel', 'Goldberg'],
    ['Thu', 'Nguyễn'],
    ['Marta', 'Esposito'],
    ['Rasmus', 'Sørensen'],
  ],
  [
    ['Katarzyna', 'Zielińska'],
    ['Samuel', 'Adeyemi'],
    ['Chloé', 'Lefèvre'],
    ['Arjun', 'Mehta'],
    ['Ingrid', 'Halvorsen'],
    ['Peter', "O'Donnell"],
    ['美咲', '佐藤', 'misaki.sato'],
    ['Gabriel', 'Monteiro'],
    ['Leila', 'Haddad'],
    ['William', 'Thornbury'],
    ['Alexandra', 'Petrova'],
    ['Jakub', 'Dvořák'],
  ],
  [
    ['Rosalind', 'Fairweather'],
    ['Emeka', 'Nwosu'],
    ['Sofía', 'Gutiérrez'],
    ['Lars', 'Bergström'],
    ['Mei', 'Chen'],
    ['Ahmed', 'Khalil'],
    ['Hannah', 'Köhler'],
    ['Tane', 'Parata'],
    ['Giulia', 'Ricci'],
    ['Patrick', 'Gallagher'],
    ['Ananya', 'Iyer'],
    ['Viktor', 'Horváth'],
  ],
  [
    ['Eleanor', 'Whitcombe'],
    ['Diego', 'Salazar'],
    ['Aoife', 'Kavanagh'],
    ['Takeshi', 'Mori'],
    ['Nadia', 'Benali'],
    ['Magnus', 'Þórsson'],
    ['Charlotte', 'Dubois'],
    ['Themba', 'Dlamini'],
    ['Isla', 'Drummond'],
    ['Marco', 'Bianchi'],
    ['Ji-woo', 'Park'],
    ['Oscar', 'Nyström'],
  ],
]

const particulars: Readonly<Record<string, Partial<Student>>> = {
  'alexandra.petrova': { preferred: 'Sasha', pronouns: 'they/them' },
  'henry.ashworth': { enabled: false },
}

function studentOf([given, family, local]: Name, year: number): Student {
  const address = local ?? `${plainLetters(given)}.${plainLetters(family)}`
  return { given, family, local: address, year, ...particulars[address] }
}

export const students: readonly Student[] = namesByYear.flatMap((names, i) =>
  names.map((name) => studentOf(name, i + 1)),
)

export const teachers: readonly Teacher[] = [
  { key: 'anatomy', given: 'Margaret', family: 'Hollis' },
  { key: 'cells', given: 'Rajesh', family: 'Banerjee' },
  { key: 'husbandry', given: 'Gareth', family: 'Llewellyn' },
  { key: 'physiology', given: 'Ewa', family: 'Kowalczyk' },
  { key: 'infection', given: 'Chinedu', family: 'Eze' },
  { key: 'pathology', given: 'Françoise', family: 'Marchand' },
  { key: 'pharmacology', given: 'Stefan', family: 'Müller' },
  { key: 'surgery', given: 'Helen', family: 'Abernathy' },
  { key: 'equine', given: 'Joaquín', family: 'Herrera' },
  { key: 'medicine', given: 'Naomi', family: 'Feldman' },
  { key: 'anaesthesia', given: 'Kenji', family: 'Watanabe' },
  { key: 'imaging', given: 'Astrid', family: 'Mikkelsen' },
]

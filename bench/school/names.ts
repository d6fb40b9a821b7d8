/** Names of people from many places; a given name goes with a family name of the same language. All combinations invented. */
import { plainLetters } from '../../demo/people.ts'
import { type Draw, pick } from './chance.ts'

interface Language {
  readonly given: readonly string[]
  readonly family: readonly string[]
}

function language(given: string, family: string): Language {
  return { given: given.split(' '), family: family.split(', ') }
}

const languages: readonly Language[] = [
  language(
    'Emily Jack Olivia Harry Amelia George Isla Thomas Freya Edward Poppy Alfie',
    "Smith, Taylor, Brown, Wright, Hughes, Edwards, Green, Clarke, Wood, O'Brien, MacDonald, Baker-Jones",
  ),
  language(
    'Chloé Léa Hugo Émile Manon Théo Zoé Raphaël Inès François Noémie Gaël',
    'Martin, Lefèvre, Dubois, Garçon, Moreau, Bérenger, Fournier, Girard, Lemoîne, De La Tour, Noël, Faure',
  ),
  language(
    'Lucía Martín Sofía Álvaro Paula Íñigo Carmen José Begoña Andrés Nuria Joaquín',
    'García, Fernández, Muñoz, Ibáñez, Rodríguez López, Peña, Gutiérrez, Núñez, Ortega, Castaño, Vega, Ríos',
  ),
  language(
    'Anna Jürgen Lena Björn Käthe Lukas Jörg Mia Günther Sophie Matthias Grete',
    'Müller, Schmidt, Weiß, Schröder, Köhler, Groß, Jäger, Krüger, Vogel, von der Heide, Böhm, Fuchs',
  ),
  language(
    'Zofia Łukasz Małgorzata Paweł Agnieszka Michał Stanisława Grzegorz Hanna Jędrzej Bożena Kazimierz',
    'Nowak, Wójcik, Kowalska, Zieliński, Szymański, Dąbrowska, Łuczak, Gołębiewski, Żak, Pawlak, Mróz, Król',
  ),
  language(
    'Astrid Søren Åsa Bjørn Ingrid Jørgen Freja Øystein Maja Håkon Sigrid Torbjörn',
    'Jensen, Sørensen, Åkesson, Bjørnstad, Lindström, Ødegård, Nygård, Þórsson, Hansen, Sæther, Berg, Höglund',
  ),
  language(
    'Elif Çağla Ömer Ayşe İbrahim Şirin Emre Gülşen Oğuz Zeynep Barış Yiğit',
    'Yılmaz, Şahin, Çelik, Öztürk, Aydın, Güneş, Koç, Doğan, Işık, Kılıç, Arslan, Yıldız',
  ),
  language(
    'Thảo Minh Hương Đức Lan Tuấn Ngọc Quân Phượng Dũng Linh Huy',
    'Nguyễn, Trần, Lê, Phạm, Hoàng, Võ, Đặng, Bùi, Đỗ, Hồ, Ngô, Dương',
  ),
  language(
    'Chidi Ngozi Kwame Ama Thabo Nomvula Wanjiru Kofi Adaeze Tendai Zanele Babatunde',
    "Okafor, Mensah, Dlamini, Adeyemi, Kamau, Nkosi, Eze, Moyo, Owusu, N'Diaye, Abebe, Chukwu",
  ),
  language(
    'Priya Arjun Ananya Rohan Kavya Vikram Meera Sanjay Divya Rahul Lakshmi Ishaan',
    'Sharma, Patel, Iyer, Reddy, Banerjee, Nair, Singh, Mehta, Rao, Chaudhary, Das, Venkataraman',
  ),
  language('美咲 翔太 陽菜 蓮 結衣 大輔 さくら 健一', '佐藤, 鈴木, 高橋, 田中, 渡辺, 伊藤, 山本, 中村'),
  language(
    'Ελένη Γιώργος Μαρία Δημήτρης Αικατερίνη Νίκος',
    'Παπαδόπουλος, Γεωργίου, Οικονόμου, Νικολάου, Αντωνίου',
  ),
  language('ليلى أحمد فاطمة يوسف مريم عمر', 'حداد, المصري, خليل, منصور, العلي'),
]

export interface Name {
  readonly given: string
  readonly family: string
}

export function nameFrom(draw: Draw): Name {
  const { given, family } = pick(draw, languages)
  return { given: pick(draw, given), family: pick(draw, family) }
}

/** Unique, since the number is and nothing before it holds a digit. */
export function localPart({ given, family }: Name, number: number): string {
  return `${plainLetters(given).slice(0, 1)}${plainLetters(family).slice(0, 20) || 'student'}${number}`
}

/** Another for the same person, and as unique. */
export function otherLocalPart(name: Name, number: number): string {
  return `${plainLetters(name.given).slice(0, 20) || 'vet'}.${localPart(name, number)}`
}

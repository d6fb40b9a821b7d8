/** Takes a full name apart. Pure. */

export interface PersonName {
  readonly given: string
  readonly family: string
}

const titles =
  /^(?:(?:dr|dra|prof|profa|pr|mr|mrs|ms|miss|mme|mlle|m|sr|sra|srta|dvm|don|dona|doña)\.?\s+|(?:dr|prof|pr|mr|sr)\.)+/iu

/** A comma or capitals mark the last name. Otherwise the first word is the first name, unless `isFamilyFirst`. */
export function nameFrom(text: string, isFamilyFirst: boolean): PersonName {
  const name = text.trim().replaceAll(/\s+/g, ' ')
  const [family, ...given] = name.split(',')
  if (given.length > 0) return { given: given.join(' ').trim(), family: family!.trim() }
  const words = name.split(' ')
  if (words.length === 1) return { given: '', family: name }
  const capitals = words.filter(isInCapitals)
  const isSplitByCapitals =
    capitals.length > 0 &&
    capitals.length < words.length &&
    (words.slice(0, capitals.length).every(isInCapitals) || words.slice(-capitals.length).every(isInCapitals))
  if (isSplitByCapitals)
    return { given: words.filter((word) => !isInCapitals(word)).join(' '), family: capitals.join(' ') }
  if (isFamilyFirst) return { given: words.slice(1).join(' '), family: words[0]! }
  return { given: words[0]!, family: words.slice(1).join(' ') }
}

/** DUPONT, but not the initial J., nor Mª for María. */
function isInCapitals(word: string): boolean {
  return word.replace(/\P{Lu}/gu, '').length > 1 && word === word.toUpperCase() && word !== word.toLowerCase()
}

const degree = /^(?:ph\.?\s?d|d\.?v\.?m|vmd|m\.?d|bvsc|bvms|m\.?sc|b\.?sc|[mf]rcvs|d[ae]cv\w+)\.?$/iu

/** "Dr. Ana López", "Ana López, PhD" and "López, Ana" are one teacher. */
export function teacherNameFrom(text: string): PersonName {
  const parts = text.trim().replace(titles, '').split(',')
  while (parts.length > 1 && degree.test(parts.at(-1)!.trim())) parts.pop()
  return nameFrom(parts.join(','), false)
}

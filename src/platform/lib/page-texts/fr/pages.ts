import type { PageTexts } from '../page-texts.ts'

export const text: PageTexts = {
  links: { help: 'Aide', privacy: 'Confidentialité' },
  notFound: {
    title: 'Page introuvable',
    lead: 'L’adresse contient peut-être une erreur, ou la page n’existe plus.',
    home: 'Aller à la page d’accueil',
  },
  refusal: {
    title: 'Connexion impossible',
    lead: 'L’application qui vous a dirigé ici a fait une erreur. Retournez-y et réessayez. Si le problème persiste, prévenez ses responsables.',
    reason: 'À leur attention\u202f:',
  },
  card: {
    verdicts: {
      active: {
        heading: 'Authentique\u202f: actuellement étudiant·e',
        lead: 'L’école confirme que cette personne y est actuellement étudiante.',
      },
      inactive: {
        heading: 'Actuellement pas étudiant·e',
        lead: 'La carte est authentique, mais cette personne n’est pas actuellement inscrite à l’école.',
      },
      expired: {
        heading: 'Cette carte a expiré',
        lead: 'Elle était authentique, mais une carte n’est valable que cinq minutes. Demandez à la personne de la montrer de nouveau.',
      },
      none: {
        heading: 'Cette carte n’est pas de cette école',
        lead: 'L’école ne connaît pas cette carte. Elle est fausse, mal saisie ou date de plus d’un jour. Ne l’acceptez pas.',
      },
    },
    name: 'Nom',
    number: 'Numéro d’étudiant',
    school: 'École',
    year: 'Année',
    checked: 'Vérifiée',
    validUntil: 'Carte valable jusqu’à',
  },
}

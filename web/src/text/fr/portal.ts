import type { Text } from '../en/portal.ts'
import { accountText } from './account.ts'
import { signInText } from './sign-in.ts'
import { studentText } from './student.ts'

const ourFault = 'Une erreur s’est produite de notre côté. Veuillez réessayer.'

export const text: Text = {
  loading: 'Un instant…',
  late: 'Cette page a besoin de JavaScript, dont le chargement est long.',
  skip: 'Aller au contenu',
  language: 'Langue',

  nav: {
    label: 'Principal',
    home: (name) => `${name}, page d’accueil`,
    profile: 'Profil',
    classes: 'Cours',
    card: 'Carte',
    calendar: 'Agenda',
    about: 'À propos de moi',
    account: 'Mon compte',
    sessions: 'Appareils',
    data: 'Mes données',
    signOut: 'Déconnexion',
  },

  footer: {
    about: (school) =>
      `Chiron est le service d’accès de l’école vétérinaire${school === null ? '' : ` (${school})`}.`,
    help: 'Aide',
    privacy: 'Confidentialité',
    developers: 'Pour les développeurs\u00a0:',
    reference: 'Référence de l’API',
    mailbox: 'Boîte aux lettres',
    problems: 'Erreurs',
  },

  offline: 'Vous êtes hors ligne. Ce que vous voyez n’est peut-être plus à jour.',
  retry: 'Réessayer',
  retryIn: (time) => `Vous pourrez continuer dans ${time}.`,
  cancel: 'Annuler',
  copy: 'Copier',
  copied: 'Copié',
  instance: (id) => `Si vous demandez de l’aide, donnez ce numéro\u00a0: ${id}`,
  stale: 'La mise à jour a échoué. Vous voyez une version antérieure.',

  timesElsewhere: (day, time) =>
    `Toutes les heures sont celles de l’école. Heure actuelle à l’école\u00a0: ${time} (${day}).`,

  staleSince: (time) => `Dernière mise à jour\u00a0: ${time}. Impossible d’actualiser depuis.`,

  problems: {
    unreachable:
      'Le service est injoignable. Vérifiez votre connexion\u202f; rien de ce que vous avez saisi n’est perdu.',
    unavailable: 'Le service n’est pas disponible en ce moment. Veuillez réessayer dans un instant.',
    'internal-error': ourFault,
    'too-many-requests': 'Trop de tentatives en peu de temps.',
    timeout: 'Cela a pris trop de temps. Veuillez réessayer.',
    'invalid-request': 'Le formulaire contient une erreur. Veuillez le vérifier.',
    'malformed-json': ourFault,
    'unsupported-version': 'Cette page n’est plus à jour. Veuillez la recharger.',
    unauthenticated: 'Veuillez vous reconnecter.',
    'invalid-token': 'Veuillez vous reconnecter.',
    'session-ended': 'Vous avez été déconnecté. Veuillez vous reconnecter.',
    'otp-incorrect': 'Ce n’est pas le bon code.',
    'otp-unusable': 'Ce code n’est plus valable. Demandez-en un nouveau.',
    forbidden: 'Votre compte n’a pas accès à cette fonction.',
    'recent-sign-in-required': 'Confirmez d’abord votre identité avec un nouveau code.',
    'passkey-unusable': 'Cette clé d’accès ne peut pas être utilisée. Connectez-vous avec un code.',
    'passkey-exists': 'Cet appareil a déjà une clé d’accès pour votre compte.',
    'not-found': 'Il n’y a rien ici.',
    'method-not-allowed': ourFault,
    conflict: 'Ce n’est pas possible dans l’état actuel. Rechargez la page et vérifiez.',
    'roster-moved-on': 'La liste des étudiants a changé entre-temps. Veuillez vérifier de nouveau.',
    'body-too-large': 'C’est trop long.',
    'unsupported-media-type': ourFault,
    'headers-too-large': ourFault,
  },

  fields: {
    email: 'Adresse e-mail',
    firstname: 'Prénom',
    lastname: 'Nom',
    wrongEmail: 'Cela ne ressemble pas à une adresse e-mail. Exemple\u00a0: ada@example.org',
    wrongName:
      'Veuillez indiquer un nom de 1 à 100 caractères, avec au moins une lettre et sans /, @ ni www.',
  },

  notFound: {
    title: 'Page introuvable',
    lead: 'Le lien est peut-être ancien ou contient une erreur.',
    home: 'Aller à la page d’accueil',
  },

  broken: {
    title: 'Une erreur s’est produite',
    lead: 'Cette page a rencontré un problème. La recharger suffit en général.',
    reload: 'Recharger la page',
  },

  ...signInText,
  ...accountText,
  ...studentText,
}

//! Who calls: the admin by the sandbox's token, `system:anonymous` without one; in process, without a token set, the admin.

use kube_meaning::status::Refusal;

use crate::api::Request;
use crate::world::World;

/// A caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub user: String,
    pub groups: Vec<String>,
}

impl Caller {
    fn new(user: &str, groups: &[&str]) -> Caller {
        Caller { user: user.to_owned(), groups: groups.iter().map(|&group| group.to_owned()).collect() }
    }

    /// May do everything.
    pub fn is_admin(&self) -> bool {
        self.groups.iter().any(|group| group == "system:masters")
    }
}

impl World {
    /// From now on the admin must show this token.
    pub fn set_admin_token(&mut self, token: &str) {
        self.admin_token = Some(token.to_owned());
    }

    /// Who sends this request; impersonation is not looked at here.
    pub fn caller(&self, request: &Request<'_>) -> Result<Caller, Refusal> {
        let admin = || Caller::new("kusion-admin", &["system:masters", "system:authenticated"]);
        let Some(token) = &self.admin_token else { return Ok(admin()) };
        match request.header("authorization") {
            None => Ok(Caller::new("system:anonymous", &["system:unauthenticated"])),
            Some(sent) if sent.strip_prefix("Bearer ").is_some_and(|sent| sent.trim() == token) => {
                Ok(admin())
            }
            Some(_) => Err(Refusal::new(401, "Unauthorized", "Unauthorized")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    #[test]
    fn the_token_makes_the_admin_and_a_wrong_one_nobody() {
        let mut world = World::new(1, Time::default());
        let with = |value: &str| vec![("authorization".to_owned(), value.to_owned())];
        assert!(world.caller(&Request::default()).unwrap().is_admin());
        world.set_admin_token("t");
        assert_eq!(world.caller(&Request::default()).unwrap().user, "system:anonymous");
        let right = with("Bearer t");
        assert!(world.caller(&Request { headers: &right, ..Request::default() }).unwrap().is_admin());
        let wrong = with("Bearer u");
        assert_eq!(world.caller(&Request { headers: &wrong, ..Request::default() }).unwrap_err().code, 401);
    }
}

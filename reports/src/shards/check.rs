//! Whether a plan that was read is one that could have been written.

use super::{Job, Plan};

impl Plan {
    /// What is wrong with it, if anything.
    pub(super) fn contradiction(&self) -> Option<String> {
        for job in &self.jobs {
            let Job {
                name,
                fixture,
                profile,
                contract,
                device,
                ..
            } = job;
            if *name != Job::named([fixture, profile, contract, device]) {
                return Some(format!("the job {name:?} is not named after what it runs"));
            }
        }
        let dealt = Self::deal(
            self.jobs.clone(),
            self.shards,
            self.stages.clone(),
            self.tool.clone(),
        );
        match dealt {
            Err(error) => Some(format!("it cannot {error}")),
            Ok(dealt) if dealt.jobs != self.jobs => Some("its jobs are dealt otherwise".to_owned()),
            Ok(dealt) if dealt.plan_sha256 != self.plan_sha256 => {
                Some("plan_sha256 is not its digest".to_owned())
            }
            Ok(_) => None,
        }
    }
}
